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
from jobs.admin.filters import JobFilter, choices_filter, since
from jobs.markup import NOTHING, cut, json_text, link, run_state, state_mark, time_tag, took
from jobs.admin.tables import table_of
from jobs.models import ActivityLog, JobRun
from jobs.models.run import RunStatus, Trigger
from jobs.reads.links import list_path, object_path
from jobs.reads.runs import RunDetail, get_run, run_item, run_rows

UNWELL = ("failed", "lost", "interrupted", "missed", "cancelled")
OUTPUT_PERMISSION = "jobs.view_run_output"


@admin.register(JobRun)
class JobRunAdmin(BigTableAdmin):
    object_template = "jobs/admin/run.html"
    empty_words = "No job has run yet. Start a worker: manage.py runworkers"
    search_keys = {"job": "job_id"}
    list_filter = (
        choices_filter("status", RunStatus, extra={"unwell": ("unwell", Q(status__in=UNWELL))}),
        choices_filter("trigger", Trigger),
        since("created_at"),
        JobFilter,
    )
    list_display = ("number", "job", "state", "why", "started", "took", "passes_made", "error_head")

    def read_rows(self) -> QuerySet[JobRun]:
        return run_rows()

    def read_item(self, number: int) -> RunDetail | None:
        return get_run(number)

    @admin.display(description="run")
    def number(self, row: Any) -> str:
        return str(row.pk)

    @admin.display(description="job")
    def job(self, row: Any) -> SafeString | str:
        return link(list_path(JobRun, job=row.job_id), row.job_id)

    @admin.display(description="status")
    def state(self, row: Any) -> SafeString:
        return state_mark(run_state(run_item(row)))

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
        return format_html('<span class="console-number">{}</span>', took(run_item(row).seconds))

    @admin.display(description="passes")
    def passes_made(self, row: Any) -> str:
        return f"{row.passes:,}" if row.passes != 1 else ""

    @admin.display(description="error")
    def error_head(self, row: Any) -> SafeString | str:
        head = cut(run_item(row).error_head, 80)
        return format_html('<span class="console-error">{}</span>', head) if head else ""

    def object_context(self, request: HttpRequest, item: RunDetail) -> Mapping[str, Any]:
        sees_output = request.user.has_perm(OUTPUT_PERMISSION)
        return {
            **super().object_context(request, item),
            "title": f"{item.job_id} #{item.id}",
            "state": run_state(item),
            "trigger": Trigger(item.trigger).label,
            "took": took(item.seconds),
            "job_path": list_path(JobRun, job=item.job_id),
            "log_path": list_path(ActivityLog, run=item.id, since="all"),
            "previous_path": object_path(JobRun, item.previous_id) if item.previous_id else "",
            "next_path": object_path(JobRun, item.next_id) if item.next_id else "",
            "sees_output": sees_output,
            **(_output(item) if sees_output else {}),
            "none": NOTHING,
        }


def _output(item: RunDetail) -> dict[str, Any]:
    return {
        "summary_table": table_of(item.output),
        "summary_text": json_text(item.output) if item.output is not None else "",
        "returned_text": json_text(item.returned) if item.returned is not None else "",
    }
