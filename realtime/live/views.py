"""The page of runs as they happen."""

from __future__ import annotations

import datetime as dt
from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.views.decorators.http import require_safe

from jobs.markup import run_state
from jobs.models import JobRun, JobState
from jobs.models.run import Trigger
from jobs.reads.bounded import bounded
from jobs.reads.errors import SlowReadError
from jobs.reads.links import list_path, object_path
from jobs.reads.runs import RunItem, list_runs
from realtime.live.runs import TOPIC, may_watch

SHOWN = 25


@require_safe
def live_runs(request: HttpRequest) -> HttpResponse:
    """Show the newest runs; the page's script asks for them again at each event."""
    if not may_watch(request.user):
        raise PermissionDenied
    status, error, rows = 200, "", []
    try:
        with bounded():
            rows = [_row(item) for item in list_runs(limit=SHOWN).items]
    except SlowReadError as slow:
        status, error = 503, str(slow)
    context = {
        **admin.site.each_context(request),
        "opts": JobRun._meta,
        "title": "Runs as they happen",
        "topic": TOPIC,
        "rows": rows,
        "error": error,
        "as_of": f"{dt.datetime.now(dt.UTC):%H:%M:%S} UTC",
        "runs_path": list_path(JobRun),
    }
    return TemplateResponse(request, "realtime/admin/live.html", context, status=status)


def _row(item: RunItem) -> dict[str, Any]:
    return {
        "item": item,
        "state": run_state(item),
        "trigger": Trigger(item.trigger).label,
        "run_path": object_path(JobRun, item.id),
        "job_path": object_path(JobState, item.job_id),
    }
