"""Runs: the ledger's list, and the page of one run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobs.admin.base import BigTableAdmin
from jobs.admin.filters import JobFilter, SameErrorFilter, choices_filter, since
from jobs.admin.tables import table_of
from jobs.admin.verbs import Verb, VerbAdmin
from jobs.audit import Outcome, Refusal
from jobs.declarations import registry
from jobs.errors import EngineroomError
from jobs.markup import (
    NOTHING,
    cut,
    json_text,
    link,
    run_state,
    run_state_of,
    state_mark,
    time_tag,
    took,
)
from jobs.models import ActivityLog, JobRun, JobState
from jobs.models.audit import Via
from jobs.models.run import RunStatus, Trigger
from jobs.reads.inventory import config_url
from jobs.reads.links import list_path, object_path
from jobs.reads.runs import RunDetail, get_run, run_rows, run_seconds
from jobs.reads.same_error import runs_with_error
from jobs.verbs import cancel_run

UNWELL = ("failed", "lost", "interrupted", "missed", "cancelled")
OUTPUT_PERMISSION = "jobs.view_run_output"


def cancel(rows: QuerySet[Any], /, *, actor: Any, via: Via, reason: str) -> Outcome:
    """Cancel runs, oldest first."""
    changed, refused = [], []
    for run_id in rows.order_by("pk").values_list("pk", flat=True):
        try:
            answer = cancel_run(run_id, actor=actor, via=via, reason=reason)
        except EngineroomError as error:
            refused.append(Refusal(id=run_id, why=f"({error})"))
            continue
        if answer.changed:
            changed.append(run_id)
    return Outcome(changed=tuple(changed), refused=tuple(refused))


def is_cancellable(item: RunDetail) -> bool:
    """Say whether a run waits, or is a singleton's that nobody has cancelled yet."""
    if item.status == RunStatus.REQUESTED:
        return True
    declared = registry.find(item.job_id)
    is_pass = declared is not None and not declared.singleton
    return item.status == RunStatus.RUNNING and not is_pass and item.cancel_requested_at is None


CANCEL = Verb(
    name="cancel",
    title="Cancel",
    past="cancelled",
    permission=cancel_run.permission,
    explanation=(
        "A run that goes on sees the wish within a heartbeat and ends itself where its code "
        "looks for it; what it has done stays done. One that still waits never begins."
    ),
    eligible=Q(status__in=(RunStatus.REQUESTED, RunStatus.RUNNING)),
    act=cancel,
    suits=is_cancellable,
    in_lists=False,
)


@admin.register(JobRun)
class JobRunAdmin(VerbAdmin, BigTableAdmin):
    object_template = "jobs/admin/run.html"
    empty_words = "No job has run yet. Start a worker: manage.py runworkers"
    is_live = True
    verbs = (CANCEL,)
    search_keys = {"job": "job_id"}
    list_filter = (
        choices_filter("status", RunStatus, extra={"unwell": ("unwell", Q(status__in=UNWELL))}),
        choices_filter("trigger", Trigger),
        since("created_at"),
        JobFilter,
        SameErrorFilter,
    )
    list_display = ("number", "job", "state", "why", "started", "took", "passes_made", "error_head")

    def read_rows(self) -> QuerySet[JobRun]:
        return run_rows()

    def read_item(self, number: int) -> RunDetail | None:
        return get_run(number)

    @admin.display(description="run")
    def number(self, row: Any) -> SafeString | str:
        return self.row_link(row, row.pk)

    @admin.display(description="job")
    def job(self, row: Any) -> SafeString | str:
        return link(object_path(JobState, row.job_id), row.job_id)

    @admin.display(description="status")
    def state(self, row: Any) -> SafeString:
        return state_mark(run_state_of(row.status))

    @admin.display(description="trigger")
    def why(self, row: Any) -> SafeString | str:
        trigger = row.get_trigger_display()
        if not row.requested_by:
            return str(trigger)
        return format_html('{} <span class="console-quiet">by {}</span>', trigger, row.requested_by)

    @admin.display(description="started")
    def started(self, row: Any) -> SafeString:
        return time_tag(row.started_at or row.scheduled_for, now=row.read_at)

    @admin.display(description="took")
    def took(self, row: Any) -> SafeString:
        return format_html('<span class="console-number">{}</span>', took(run_seconds(row)))

    @admin.display(description="passes")
    def passes_made(self, row: Any) -> str:
        return f"{row.passes:,}" if row.passes != 1 else ""

    @admin.display(description="error")
    def error_head(self, row: Any) -> SafeString | str:
        head = cut(row.error_start.partition("\n")[0], 80)
        return format_html('<span class="console-error">{}</span>', head) if head else ""

    def changes_by_itself(self, item: RunDetail) -> bool:
        return item.status in (RunStatus.REQUESTED, RunStatus.RUNNING)

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return self.may(request, CANCEL.name)

    def sample_words(self, row: JobRun) -> str:
        """Return the line of a run on a verb's page."""
        return f"{row.pk} · {row.job_id} · {row.get_status_display()}"

    def object_context(self, request: HttpRequest, item: RunDetail) -> Mapping[str, Any]:
        sees_output = request.user.has_perm(OUTPUT_PERMISSION)
        declared = registry.find(item.job_id)
        alike = runs_with_error(item.job_id, item.error_head)
        return {
            **super().object_context(request, item),
            "title": f"{item.job_id} #{item.id}",
            "state": run_state(item),
            "trigger": Trigger(item.trigger).label,
            "took": took(item.seconds),
            "progress": progress_words(item),
            "job_path": object_path(JobState, item.job_id),
            "runs_path": list_path(JobRun, job=item.job_id),
            "config_path": config_url(declared) if declared else "",
            "alike": alike if len(alike.run_ids) > 1 else None,
            "alike_path": list_path(JobRun, same_error=item.id),
            "log_path": list_path(ActivityLog, run=item.id, since="all"),
            "previous_path": object_path(JobRun, item.previous_id) if item.previous_id else "",
            "next_path": object_path(JobRun, item.next_id) if item.next_id else "",
            "sees_output": sees_output,
            **(_output(item) if sees_output else {}),
            "none": NOTHING,
        }


def progress_words(item: RunDetail) -> str:
    """Return how far a run is, such as ``18,204 of 51,000``."""
    if item.progress_done is None:
        return ""
    total = "" if item.progress_total is None else f" of {item.progress_total:,}"
    return f"{item.progress_done:,}{total}"


def _output(item: RunDetail) -> dict[str, Any]:
    return {
        "summary_table": table_of(item.output),
        "summary_text": json_text(item.output) if item.output is not None else "",
        "returned_text": json_text(item.returned) if item.returned is not None else "",
    }
