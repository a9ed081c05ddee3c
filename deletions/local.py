"""The local step that deletes the user's rows here, the user last."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.db import OperationalError, connection

from deletions.models import Half
from deletions.relations import Action, Reference, references
from deletions.rows import RowEraser
from deletions.steps import Answer, StepCall
from jobs.transactions import short_transaction
from jobs.workers.queue_pass import Waiting

COUNT_MS = 500


class DeleteLocalRows:
    """Deletes what refers to the user, children first, then the user."""

    name = "rows"
    half = Half.LOCAL.value
    left_behind = "the user and rows that refer to the user are still here"

    def run(self, call: StepCall) -> Answer:
        """Go on where the last try has ended: what is gone is not found again."""
        users = get_user_model()
        key = users._meta.pk.to_python(call.user_id)
        if not users._base_manager.filter(pk=key).exists():
            call.say("the user is gone already")
            return None
        counted = Counted(call, left=count_rows(key))
        eraser = RowEraser(on_rows=counted.add, should_stop=call.should_stop)
        if not eraser.erase(users, key):
            return Waiting(seconds=1)
        call.say(f"{counted.done:,} rows")
        return None


class Counted:
    """Keeps the progress: the total is raised when more is found, and never falls short."""

    def __init__(self, call: StepCall, *, left: int | None) -> None:
        self._call = call
        self.done = call.rows_deleted
        self._total = None if left is None else self.done + left
        call.progress(self.done, self._total)

    def add(self, rows: int) -> None:
        """Count rows that are gone."""
        self.done += rows
        if self._total is not None:
            self._total = max(self._total, self.done)
        self._call.progress(self.done, self._total)


def count_rows(key: Any) -> int | None:
    """Return how many rows refer to the user directly, and one; None when counting is slow."""
    found = [_count(reference, key) for reference in references(get_user_model())]
    if any(number is None for number in found):
        return None
    return sum(number or 0 for number in found) + 1


def _count(reference: Reference, key: Any) -> int | None:
    if reference.action not in (Action.DELETE, Action.CLEAR):
        return 0
    try:
        with short_transaction("default"), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(COUNT_MS)])
            return reference.rows([key]).count()
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) == "57014":
            return None
        raise
