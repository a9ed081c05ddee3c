"""The keys of a directory in the order of their bytes, from any of them on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from jobs.objectstore.files.keys import key_order
from jobs.objectstore.files.tree import NOT_THERE, opened


class Entry(NamedTuple):
    """A file, or a directory whose key ends with a slash."""

    order: bytes
    key: str


def walk(root: str, bucket: list[str], *, prefix: str = "", after: str = "") -> Iterator[str]:
    """
    Yield the keys with a prefix that come after a key.

    A link is a key like any other and is never followed. What vanishes meanwhile is left
    out. Raises ``OSError`` where the bucket itself cannot be read.
    """
    first, behind = key_order(prefix), key_order(after)
    # The entries still to come of each directory on the way down; reversed, so that pop()
    # takes the next.
    levels = [_entries(root, bucket, "", first=first, behind=behind)]
    while levels:
        if not levels[-1]:
            levels.pop()
            continue
        key = levels[-1].pop().key
        if not key.endswith("/"):
            yield key
            continue
        try:
            levels.append(_entries(root, bucket, key, first=first, behind=behind))
        except OSError as error:
            if error.errno not in NOT_THERE:
                raise


def _entries(
    root: str, bucket: list[str], directory: str, *, first: bytes, behind: bytes
) -> list[Entry]:
    place = [*bucket, *directory.split("/")[:-1]]
    with opened(root, place) as descriptor, os.scandir(descriptor) as found:
        entries = [_entry(directory, item) for item in found]
    wanted = [entry for entry in entries if _leads_on(entry, first=first, behind=behind)]
    return sorted(wanted, reverse=True)


def _entry(directory: str, item: os.DirEntry[str]) -> Entry:
    slash = "/" if item.is_dir(follow_symlinks=False) else ""
    key = f"{directory}{item.name}{slash}"
    return Entry(order=key_order(key), key=key)


def _leads_on(entry: Entry, *, first: bytes, behind: bytes) -> bool:
    """Say whether a key is wanted, or a directory has keys that may be."""
    if not entry.key.endswith("/"):
        return entry.order.startswith(first) and entry.order > behind
    meets = entry.order.startswith(first) or first.startswith(entry.order)
    return meets and (entry.order > behind or behind.startswith(entry.order))
