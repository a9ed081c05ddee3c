"""Bucket deletions as the tables and lines of commands show them."""

from __future__ import annotations

from deletions.buckets.reads import BucketDetail, BucketItem
from jobs.output.tables import Column, table_lines
from jobs.output.words import when
from jobs.reads.words import duration_words

TABLE = (
    Column(title="id"),
    Column(title="bucket", shrinks=True),
    Column(title="state", is_state=True),
    Column(title="phase"),
    Column(title="deleted"),
    Column(title="pace", shrinks=True),
    Column(title="tries"),
    Column(title="next try", shrinks=True),
    Column(title="error", shrinks=True),
    Column(title="page", optional=True),
)
KEYS = (
    Column(title="key", shrinks=True),
    Column(title="code"),
    Column(title="message", shrinks=True),
)


def table_row(item: BucketItem) -> tuple[object, ...]:
    """Return a bucket deletion as a row of the table."""
    return (
        item.id,
        place_words(item),
        item.state,
        item.phase,
        progress_words(item),
        pace_words(item),
        f"{item.attempts}/{item.max_attempts}",
        when(item.next_attempt_at, now=item.read_at),
        item.error_head,
        item.admin_url,
    )


def detail_lines(item: BucketDetail) -> list[str]:
    """Return one bucket deletion as lines."""
    facts = {
        "state": item.state,
        "endpoint": item.endpoint,
        "phase": item.phase,
        "deleted": progress_words(item),
        "pace": pace_words(item),
        "attempts without progress": f"{item.attempts} of {item.max_attempts}",
        "next try": when(item.next_attempt_at, now=item.read_at),
        "last progress": when(item.progressed_at, now=item.read_at),
        "requested by": item.requested_by,
        "requested": when(item.created_at, now=item.read_at),
        "done": when(item.done_at, now=item.read_at),
        "error": item.error_head,
        "page": item.admin_url,
    }
    lines = [f"bucket deletion {item.id} of {place_words(item)}"]
    lines += [f"  {name}: {value}" for name, value in facts.items() if value]
    if item.failed_keys:
        shown = [(failed.key, failed.code, failed.message) for failed in item.failed_keys]
        lines += ["", f"{item.failed_objects:,} not deleted:", *table_lines(KEYS, shown)]
    return lines


def place_words(item: BucketItem) -> str:
    """Return which objects are meant: the bucket, or what is below a prefix in it."""
    return f"{item.bucket_name}/{item.prefix}*" if item.prefix else item.bucket_name


def progress_words(item: BucketItem) -> str:
    """Return ``1,200 of 20,000 (6 %)``, or how many were counted so far."""
    if item.total_objects is None:
        return f"counting: {item.listed_objects:,}" if item.listed_objects else ""
    share = percent(item)
    return f"{item.deleted_objects:,} of {item.total_objects:,} ({share} %)"


def percent(item: BucketItem) -> int:
    """Return how much is deleted; 100 only when nothing is left."""
    if not item.total_objects:
        return 100 if item.status == "done" else 0
    return item.deleted_objects * 100 // item.total_objects


def pace_words(item: BucketItem) -> str:
    """Return ``3,400/s, 5 s left``; nothing while that cannot be said."""
    if item.objects_per_s is None:
        return ""
    rate = item.objects_per_s
    shown = f"{rate:,.0f}/s" if rate >= 10 else f"{rate:.1f}/s"
    if item.seconds_left is None:
        return shown
    return f"{shown}, {duration_words(item.seconds_left)} left"
