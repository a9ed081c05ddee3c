"""
Declares what ``SCHEDULED`` says: a list, in JSON, of jobs with their cadence and their work.

A cadence is ``every MS``, a cron expression with its zone, or ``by hand``; with ``fragile``
before it, it breaks when a test wishes so. The work is ``note`` (one delivery for the slot),
``watch`` (until it should stop) or ``sleep`` (for a minute, looking at nothing). ``missed`` is
``skip``, ``one`` or a number of runs.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

from jobs.cadence import Cron, Every, Manual
from jobs.context import RunContext
from jobs.declarations import job
from jobs.identity import process_name
from jobs.models import JobRun
from jobs.slots import MissedPolicy, RunAll, RunLatest, Skip
from tests.crash.scheduled.apps import wish
from tests.testapp.models import Delivery


def read_cadence(text: str) -> Cron | Every | Manual:
    match text.split():
        case ["every", ms]:
            return Every(ms=int(ms))
        case ["by", "hand"]:
            return Manual()
        case ["fragile", *rest]:
            # A schedule that is data, and whose data breaks while workers run.
            if wish("break").exists():
                raise ValueError("the time zone of this schedule is gone")
            return read_cadence(" ".join(rest))
        case [*fields, zone]:
            return Cron(" ".join(fields), zone=zone)
    raise ValueError(text)


def read_missed(text: str) -> MissedPolicy:
    match text:
        case "skip":
            return Skip()
        case "one":
            return RunLatest()
    return RunAll(at_most=int(text))


def declare(options: dict[str, Any]) -> None:
    work = options.get("work", "note")

    def run_once(context: RunContext) -> dict[str, int]:
        run = JobRun.objects.get(pk=context.run_id)
        slot = int(run.scheduled_for.timestamp()) if run.scheduled_for else 0
        Delivery.objects.create(queue=run.job_id, row_id=slot, worker=process_name())
        if work == "sleep":
            time.sleep(60)
        while work == "watch" and not context.should_stop():
            context.progress(1, 2)
            time.sleep(0.02)
        return {"slot": slot}

    job(
        options["id"],
        cadence=lambda: read_cadence(options["cadence"]),
        summary="Note that a slot was run.",
        missed=read_missed(options.get("missed", "one")),
    )(run_once)


for declared in json.loads(os.environ["SCHEDULED"]):
    declare(declared)
