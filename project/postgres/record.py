"""The record in `var`: what the processes of a checkout know about their server."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path

from project.postgres.places import Places, replace_in_var


@dataclass(frozen=True, kw_only=True)
class Record:
    """One server; written under the mutex, read by anyone."""

    # Tells a copied checkout, whose record speaks of the original's server.
    var: str
    data: str
    sockets: str
    binaries: str
    source: str
    version: str
    user: str
    # The process that was brought up to the last step; another one is not yet ready to use.
    ready_pid: int
    # False after `manage.py postgres stop --force`: nobody then brings it back.
    wanted: bool


def load_record(places: Places) -> Record | None:
    """Return the record, or None if there is none, it is damaged or it is another checkout's."""
    try:
        record = Record(**json.loads(places.record.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    return record if _is_ours(record, places=places) else None


def save_record(record: Record, *, places: Places) -> None:
    """Write the record; VarNotWritableError if that is refused."""
    replace_in_var(places.record, content=json.dumps(dataclasses.asdict(record), indent=2) + "\n")


def mark_unwanted(places: Places) -> None:
    """Keep the processes that still use the server from bringing it back."""
    record = load_record(places)
    if record:
        save_record(dataclasses.replace(record, wanted=False), places=places)


def _is_ours(record: Record, *, places: Places) -> bool:
    # A moved checkout keeps its record, a copy does not: the original is still in place.
    return record.var == str(places.var) or not Path(record.var).exists()
