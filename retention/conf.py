"""The settings of retention: names, defaults and what is allowed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jobs.conf import Setting, Text, Whole
from jobs.errors import SettingError
from jobs.objectstore import InvalidBucketError
from jobs.objectstore.port import check_bucket


@dataclass(frozen=True, kw_only=True)
class BucketName(Text):
    """A name that a bucket can have."""

    def check(self, value: Any) -> str:
        try:
            check_bucket(super().check(value))
        except InvalidBucketError as error:
            raise SettingError(self.name, value, error.message) from None
        return str(value)

    def parse(self, text: str) -> str:
        return self.check(text.strip())


BATCH = Whole(name="RETENTION_BATCH", default=2000, minimum=1, maximum=50_000)
MAX_BATCHES = Whole(name="RETENTION_MAX_BATCHES", default=50, minimum=1, maximum=100_000)
MAX_SECONDS = Whole(name="RETENTION_MAX_SECONDS", default=600, minimum=1, maximum=86_400)
PAUSE_MS = Whole(name="RETENTION_PAUSE_MS", default=50, minimum=0, maximum=10_000)

UPLOAD_BUCKET = BucketName(name="UPLOAD_BUCKET", default="uploads")
UPLOAD_SECONDS = Whole(name="UPLOAD_SECONDS", default=3600, minimum=1, maximum=604_800)
# What one PUT may carry to S3.
UPLOAD_MAX_BYTES = Whole(
    name="UPLOAD_MAX_BYTES", default=5 * 1024**3, minimum=0, maximum=5 * 1024**3
)
UPLOAD_QUOTA_SLOTS = Whole(name="UPLOAD_QUOTA_SLOTS", default=1000, minimum=0, maximum=10**9)
UPLOAD_QUOTA_BYTES = Whole(name="UPLOAD_QUOTA_BYTES", default=10**10, minimum=0, maximum=10**15)

SETTINGS: tuple[Setting[Any], ...] = (
    BATCH,
    MAX_BATCHES,
    MAX_SECONDS,
    PAUSE_MS,
    UPLOAD_BUCKET,
    UPLOAD_SECONDS,
    UPLOAD_MAX_BYTES,
    UPLOAD_QUOTA_SLOTS,
    UPLOAD_QUOTA_BYTES,
)
