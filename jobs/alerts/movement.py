"""
Has anything come of what is in work? The part of the facts that one look cannot tell.

A pass that goes on keeps its counts and its progress current in its ledger row, without the
time of their last change. So each evaluation notes them in the summary of its own run, with
the time of the last change, and the next one compares. The ledger is the memory: it
survives restarts and is the same for all replicas.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.utils.dateparse import parse_datetime

from jobs.models.run import RunStatus

# What a pass counts without anything being finished by it.
NOT_FINISHED = frozenset({"claimed", "released", "interrupted", "lost"})
UNMOVED = [0, None]  # rows finished, progress

ReadProgress = Callable[[], object]
_declared: dict[str, ReadProgress] = {}


def declare_progress(queue: str, read: ReadProgress) -> None:
    """
    Let a queue's long rows count as moving while what ``read`` returns changes.

    For work that keeps its progress in its own rows, such as the number of objects deleted.
    ``read`` is called only while rows are processing; its value must be small and JSON.
    """
    _declared[queue] = read


def withdraw_progress(queue: str) -> None:
    """Forget a queue's progress."""
    _declared.pop(queue, None)


def declared_progress(queue: str) -> object:
    """Return the progress that an app declares for a queue, as it is now."""
    read = _declared.get(queue)
    return None if read is None else read()


@dataclass(frozen=True, kw_only=True)
class Pass:
    """A pass of a queue worker, as the ledger has it."""

    id: int
    status: str
    finished_at: dt.datetime | None = None
    progress_done: int | None = None
    output: Mapping[str, Any] = field(default_factory=dict)

    @property
    def finished(self) -> int:
        """How many rows it has finished, whatever became of them."""
        return sum(
            count
            for name, count in self.output.items()
            if name not in NOT_FINISHED and isinstance(count, int)
        )

    @property
    def state(self) -> list[int | None]:
        """What changes when it moves: rows finished, progress."""
        return [self.finished, self.progress_done]


@dataclass(frozen=True, kw_only=True)
class Noted:
    """What was seen of a queue's work, and when that last changed."""

    passes: Mapping[str, Any]  # of passes that go on, by run: rows finished, progress
    progress: Any = None  # what an app declares
    moved_at: dt.datetime | None = None  # None: never, as far as was looked


def last_finish(passes: Iterable[Pass]) -> dt.datetime | None:
    """Return when a pass that finished rows last ended; one that was lost ended by itself."""
    ends = [
        run.finished_at
        for run in passes
        if run.finished and run.finished_at and run.status != RunStatus.LOST
    ]
    return max(ends, default=None)


def follow(
    earlier: Noted | None, passes: Iterable[Pass], progress: object, *, now: dt.datetime
) -> Noted:
    """
    Return what to note now, compared with what was noted before.

    A pass that finished a further row or made progress has moved, and so has what an app
    declares when it is another. A pass that is gone has not: how it ended is in the ledger.
    """
    seen = {str(run.id): run.state for run in passes if run.status == RunStatus.RUNNING}
    plain = json.loads(json.dumps(progress, default=str))
    if earlier is None:
        return Noted(passes=seen, progress=plain)
    moved = plain != earlier.progress or any(
        state != earlier.passes.get(run, UNMOVED) for run, state in seen.items()
    )
    return Noted(passes=seen, progress=plain, moved_at=now if moved else earlier.moved_at)


def read_notes(summary: object) -> dict[str, Noted]:
    """Read the notes out of a run's summary; what cannot be read is not there."""
    watch = summary.get("watch") if isinstance(summary, dict) else None
    return {
        str(queue): Noted(
            passes=note["passes"],
            progress=note.get("progress"),
            moved_at=_instant(note.get("moved_at")),
        )
        for queue, note in (watch.items() if isinstance(watch, dict) else ())
        if isinstance(note, dict) and isinstance(note.get("passes"), dict)
    }


def write_notes(notes: Mapping[str, Noted]) -> dict[str, dict[str, Any]]:
    """Return the notes as a run's summary holds them."""
    return {
        queue: {
            "passes": dict(note.passes),
            "progress": note.progress,
            "moved_at": note.moved_at.isoformat() if note.moved_at else None,
        }
        for queue, note in notes.items()
    }


def _instant(text: object) -> dt.datetime | None:
    try:
        found = parse_datetime(text) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if found is not None and found.tzinfo else None
