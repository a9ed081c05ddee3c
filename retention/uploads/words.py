"""Upload reservations as the tables of commands show them."""

from __future__ import annotations

from django.template.defaultfilters import filesizeformat

from jobs.output.tables import Column
from jobs.output.words import when
from retention.uploads.reads import UploadItem

TABLE = (
    Column(title="id"),
    Column(title="owner", shrinks=True),
    Column(title="file", shrinks=True),
    Column(title="size"),
    Column(title="state", is_state=True),
    Column(title="expires"),
    Column(title="tries"),
    Column(title="error", shrinks=True),
    Column(title="page", optional=True),
)


def table_row(item: UploadItem) -> tuple[object, ...]:
    """Return a reservation as a row of the table."""
    return (
        item.id,
        item.owner,
        item.filename,
        size_words(item.size),
        item.state,
        "" if item.completed_at else when(item.expires_at, now=item.read_at),
        item.tries or "",
        item.last_error,
        item.admin_url,
    )


def size_words(size: int) -> str:
    """Return ``3.4 MB``, in units of 1,024 as everywhere in Django."""
    return filesizeformat(size).replace("\xa0", " ")
