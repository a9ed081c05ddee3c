"""What a bucket lists: its objects, and their versions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from deletions.buckets.walk import Listed
from jobs.objectstore import BatchResult, ObjectStore, ObjectVersion, VersionCursor


@dataclass(frozen=True, kw_only=True)
class Objects:
    """The objects of a bucket below a prefix."""

    store: ObjectStore
    bucket: str
    prefix: str

    def page(self, after: str | None) -> Listed[str, str]:
        page = self.store.list_page(self.bucket, prefix=self.prefix, after=after or "")
        return Listed(items=page.keys, next=None if page.is_last else page.keys[-1])

    def delete(self, items: Sequence[str]) -> BatchResult:
        return self.store.delete_batch(self.bucket, items)

    def cursor(self, item: str) -> str:
        return item

    def key(self, item: str) -> str:
        return item


@dataclass(frozen=True, kw_only=True)
class Versions:
    """The versions and the marks of deletion of a bucket below a prefix."""

    store: ObjectStore
    bucket: str
    prefix: str

    def page(self, after: VersionCursor | None) -> Listed[ObjectVersion, VersionCursor]:
        page = self.store.list_versions(self.bucket, prefix=self.prefix, after=after)
        # A walk goes on behind the last of them; stores tell versions and marks apart.
        return Listed(items=sorted(page.versions, key=self.key), next=page.next)

    def delete(self, items: Sequence[ObjectVersion]) -> BatchResult:
        return self.store.delete_versions(self.bucket, items)

    def cursor(self, item: ObjectVersion) -> VersionCursor:
        return VersionCursor(key=item.key, version_id=item.version_id)

    def key(self, item: ObjectVersion) -> str:
        return item.key
