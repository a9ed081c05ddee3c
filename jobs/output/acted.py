"""What a command answers that acted on rows: those that it changed, and those left alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import QuerySet

from jobs.audit import Outcome, Refusal
from jobs.commands import EXIT_PROBLEM
from jobs.output.command import ConsoleCommand, Options
from jobs.output.tables import Column

Item = TypeVar("Item")
IDS_SHOWN = 10
REFUSALS_SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class Acted(Generic[Item]):
    """What was changed, or would be, newest first, and what was left alone."""

    items: tuple[Item, ...]
    refused: tuple[Refusal, ...]
    dry_run: bool


@dataclass(frozen=True, kw_only=True)
class Telling(Generic[Item]):
    """How rows are read, and what a person is told of them."""

    rows: Callable[[], QuerySet[Any]]
    to_item: Callable[[Any], Item]
    columns: Sequence[Column]
    to_row: Callable[[Item], Sequence[object]]
    nothing: str  # "None is abandoned."
    done: str  # "requeued: due now", after a number
    would: str = ""  # the same of a dry run
    left: Callable[[Refusal], str]

    def answer(self, outcome: Outcome, *, dry_run: bool = False) -> Acted[Item]:
        """Return the outcome with its rows as items."""
        changed = self.rows().filter(pk__in=outcome.changed).order_by("-pk")
        return Acted(
            items=tuple(self.to_item(row) for row in changed),
            refused=outcome.refused,
            dry_run=dry_run,
        )


def changed_lines(outcome: Outcome, *, what: str, noun: str) -> list[str]:
    """Return ``retry 2 mails: 4, 7``, and a line for what was left alone; a few of many."""
    count = len(outcome.changed)
    listed = ", ".join(map(str, outcome.changed[:IDS_SHOWN]))
    more = " …" if count > IDS_SHOWN else ""
    head = f"{what} {count:,} {noun if count == 1 else f'{noun}s'}"
    lines = [f"{head}: {listed}{more}" if listed else head]
    refused = outcome.refused[:REFUSALS_SHOWN]
    return lines + [f"left alone: {each.id} {each.why}" for each in refused]


def show_acted(
    console: ConsoleCommand, answer: Acted[Item], options: Options, telling: Telling[Item]
) -> None:
    """Print an answer; the command ends with 1 if anything was left alone."""
    if options["json"]:
        console.emit(answer)
    else:
        rows = [telling.to_row(item) for item in answer.items]
        nothing = "" if answer.refused else telling.nothing
        console.show_table(telling.columns, rows, nothing=nothing)
        if answer.items:
            done = telling.would if answer.dry_run else telling.done
            console.notice(f"{len(answer.items)} {done}.")
    for refusal in answer.refused:
        console.notice(telling.left(refusal))
    if answer.refused:
        console.leave(EXIT_PROBLEM)
