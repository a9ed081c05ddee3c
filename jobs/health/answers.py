"""The two answers, as values: the site's views and the worker's own server give the same."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from jobs.health.database import DatabaseCheck
from jobs.health.reasons import Reason
from jobs.health.state import ProcessHealth, health

_database = DatabaseCheck()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A status and what goes out as JSON."""

    status: HTTPStatus
    body: dict[str, Any]


def live(process: ProcessHealth = health) -> Answer:
    """Say whether this process lives: 200 while its loops tick. Asks no database."""
    reasons = _loop_reasons(process)
    return _answer("alive", reasons, {})


def ready(process: ProcessHealth = health, *, database: DatabaseCheck = _database) -> Answer:
    """
    Say whether this process can serve: database, migrations, its loops, not draining.

    Late jobs never change it, or a late backup would take the site out of its load
    balancer. Answers within about 5 s whatever the database does.
    """
    reasons = [*database.reasons(), *_loop_reasons(process)]
    if process.draining:
        reasons.append(Reason(code="draining", detail="this process is stopping"))
    listen = process.listen.value if process.listen else None
    more = {"listen": listen, "draining": process.draining, **process.descriptions()}
    return _answer("ready", reasons, more)


def _loop_reasons(process: ProcessHealth) -> list[Reason]:
    return [Reason(code="loop", detail=str(silence)) for silence in process.silent_loops()]


def _answer(name: str, reasons: list[Reason], more: dict[str, Any]) -> Answer:
    return Answer(
        status=HTTPStatus.SERVICE_UNAVAILABLE if reasons else HTTPStatus.OK,
        body={
            name: not reasons,
            "reasons": [{"code": reason.code, "detail": reason.detail} for reason in reasons],
            **more,
        },
    )
