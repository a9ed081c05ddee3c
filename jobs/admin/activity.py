"""Activity: the log stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from jobs.admin.base import BigTableAdmin
from jobs.admin.filters import JobFilter, RunFilter, choices_filter, since
from jobs.admin.tables import table_of
from jobs.markup import LEVEL_STATES, cut, json_text, link, state_mark, time_tag
from jobs.models import ActivityLog, JobRun, JobState
from jobs.models.activity import LogLevel, LogSource
from jobs.reads.activity import ActivityItem, activity_rows, get_activity
from jobs.reads.links import object_path

TROUBLE = {"trouble": ("warning or error", Q(level__in=("warning", "error")))}


@admin.register(ActivityLog)
class ActivityLogAdmin(BigTableAdmin):
    object_template = "jobs/admin/activity.html"
    empty_words = "Nothing was logged yet."
    counted_as = ("line", "lines")
    search_keys = {"run": "run_id", "job": "job_id"}
    list_filter = (
        since("at", default="24h"),
        choices_filter("level", LogLevel, extra=TROUBLE),
        choices_filter("source", LogSource),
        JobFilter,
        RunFilter,
    )
    list_display = ("when", "state", "source", "said", "job", "run")

    def read_rows(self) -> QuerySet[ActivityLog]:
        return activity_rows()

    def read_item(self, number: int) -> ActivityItem | None:
        return get_activity(number)

    @admin.display(description="time")
    def when(self, row: Any) -> SafeString | str:
        return self.row_link(row, time_tag(row.at, now=row.read_at))

    @admin.display(description="level")
    def state(self, row: Any) -> SafeString:
        return state_mark(LEVEL_STATES[row.level])

    @admin.display(description="message")
    def said(self, row: Any) -> str:
        return cut(row.message, 200)

    @admin.display(description="job")
    def job(self, row: Any) -> SafeString | str:
        return link(object_path(JobState, row.job_id), row.job_id) if row.job_id else ""

    @admin.display(description="run")
    def run(self, row: Any) -> SafeString | str:
        return link(object_path(JobRun, row.run_id), row.run_id) if row.run_id else ""

    def object_context(self, request: HttpRequest, item: ActivityItem) -> Mapping[str, Any]:
        return {
            **super().object_context(request, item),
            "state": LEVEL_STATES[item.level],
            "job_path": object_path(JobState, item.job_id),
            "run_path": object_path(JobRun, item.run_id) if item.run_id else "",
            "context_table": table_of(item.context),
            "context_text": json_text(item.context) if item.context else "",
        }
