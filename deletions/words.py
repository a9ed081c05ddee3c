"""Deletions as the tables of commands show them."""

from __future__ import annotations

from deletions.reads import DeletionItem
from jobs.output.tables import Column
from jobs.output.words import when

TABLE = (
    Column(title="id"),
    Column(title="user"),
    Column(title="tries"),
    Column(title="since"),
    Column(title="access"),
    Column(title="external", shrinks=True),
    Column(title="local", shrinks=True),
    Column(title="left behind", shrinks=True),
    Column(title="page", optional=True),
)


def table_row(item: DeletionItem) -> tuple[object, ...]:
    """Return a deletion as a row of the table."""
    return (
        item.id,
        item.user_id,
        f"{item.attempts}/{item.max_attempts}",
        when(item.since, now=item.read_at),
        item.access.words,
        item.external.words,
        item.local.words,
        item.left_behind,
        item.admin_url,
    )
