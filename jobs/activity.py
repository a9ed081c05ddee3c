"""The shared log stream, ``activity_log``. Nothing here raises into the work it describes."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from typing import Any

from django.db import transaction

from jobs.context import LogLine, RunContext, current_run
from jobs.failure import storable
from jobs.models.activity import ActivityLog, LogLevel
from jobs.plain import plain_text
from jobs.redaction import mask_secrets

logger = logging.getLogger(__name__)
MESSAGE_LIMIT = 8_000
CONTEXT_LIMIT = 16_000


def log_activity(source: str, level: str, message: str, **context: Any) -> None:
    """
    Write a line of the log stream, with the run's id if there is one.

    ``source`` is a ``LogSource``, ``level`` a ``LogLevel``. Inside a run the line is
    written with the run's row; elsewhere at once, in the caller's transaction if it has one.
    """
    line = LogLine(
        source=source,
        level=level,
        message=mask_secrets(storable(message))[:MESSAGE_LIMIT],
        context=_plain(context),
    )
    run = current_run()
    if run is not None:
        run.log(line)
        return
    write_lines([line])


def write_lines(lines: Iterable[LogLine], *, job_id: str = "", run_id: int | None = None) -> None:
    """Insert lines; a failure is reported through ``logging`` only."""
    rows = [
        ActivityLog(
            source=line.source,
            level=line.level,
            message=line.message,
            context=line.context,
            job_id=job_id,
            run_id=run_id,
        )
        for line in lines
    ]
    if not rows:
        return
    try:
        with transaction.atomic():  # a savepoint inside the caller's transaction
            ActivityLog.objects.bulk_create(rows)
    except Exception:  # must not reach the work that it describes
        logger.exception("activity_not_written lines=%s", len(rows))


class ActivityHandler(logging.Handler):
    """Brings what a run logs through ``logging`` into the log stream."""

    def emit(self, record: logging.LogRecord) -> None:
        run = current_run()
        if run is None or record.name.startswith(("django.db", __name__)):
            return
        try:
            run.log(_line_of(record, run))
        except Exception:  # noqa: BLE001 (logging's own rule)
            self.handleError(record)


def _line_of(record: logging.LogRecord, run: RunContext) -> LogLine:
    context: dict[str, Any] = {"logger": record.name}
    if record.exc_info and record.exc_info[1] is not None:
        context["exception"] = repr(record.exc_info[1])
    return LogLine(
        source=run.declaration.log_source,
        level=_level(record.levelno),
        message=mask_secrets(storable(record.getMessage()))[:MESSAGE_LIMIT],
        context=_plain(context),
    )


def _level(number: int) -> str:
    if number >= logging.ERROR:
        return LogLevel.ERROR
    if number >= logging.WARNING:
        return LogLevel.WARNING
    return LogLevel.INFO if number >= logging.INFO else LogLevel.DEBUG


def _plain(context: dict[str, Any]) -> dict[str, Any]:
    """Return the context as JSON can hold it, masked and bounded."""
    if not context:
        return {}
    text = plain_text(context)
    if len(text) > CONTEXT_LIMIT:
        return {"cut": text[:CONTEXT_LIMIT]}
    try:
        plain = _storable(json.loads(text))
    except ValueError:
        return {"cut": text}
    return plain if isinstance(plain, dict) else {"value": plain}


def _storable(value: Any) -> Any:
    """Return a JSON value without the characters that JSON escapes and PostgreSQL refuses."""
    match value:
        case str():
            return storable(value)
        case list():
            return [_storable(item) for item in value]
        case dict():
            return {storable(name): _storable(item) for name, item in value.items()}
    return value
