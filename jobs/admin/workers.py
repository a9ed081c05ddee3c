"""Workers: which processes are alive, and what each of them does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobs.admin.base import ReadOnlyAdmin
from jobs.markup import NOTHING, state_mark, time_tag, worker_state
from jobs.models import JobState, Worker
from jobs.reads.links import object_path
from jobs.reads.workers import WorkerItem, get_worker, worker_item, worker_rows


@admin.register(Worker)
class WorkerAdmin(ReadOnlyAdmin):
    object_template = "jobs/admin/worker.html"
    is_live = True
    empty_words = "No worker is running. Start one: manage.py runworkers"
    list_display = (
        "title",
        "state",
        "build",
        "started",
        "heartbeat",
        "hears",
        "claims",
        "loop_count",
    )

    def read_rows(self) -> QuerySet[Worker]:
        return worker_rows()

    @admin.display(description="name")
    def title(self, row: Any) -> SafeString | str:
        return self.row_link(row, row.name)

    @admin.display(description="state")
    def state(self, row: Any) -> SafeString:
        return state_mark(worker_state(worker_item(row)))

    @admin.display(description="version")
    def build(self, row: Any) -> str:
        return row.version or NOTHING

    @admin.display(description="started")
    def started(self, row: Any) -> SafeString:
        return time_tag(row.started_at, now=row.read_at)

    @admin.display(description="heartbeat")
    def heartbeat(self, row: Any) -> SafeString:
        return time_tag(row.heartbeat_at, now=row.read_at)

    @admin.display(description="LISTEN")
    def hears(self, row: Any) -> str:
        return str(row.get_listen_display())

    @admin.display(description="claims held")
    def claims(self, row: Any) -> SafeString:
        return format_html('<span class="console-number">{}</span>', f"{row.claims_held:,}")

    @admin.display(description="loops")
    def loop_count(self, row: Any) -> str:
        return f"{len(row.loops):,}"

    def read_object(self, request: HttpRequest, key: str) -> WorkerItem | None:
        return get_worker(key)

    def object_context(self, request: HttpRequest, item: WorkerItem) -> Mapping[str, Any]:
        loops = [(loop, object_path(JobState, loop.job_id)) for loop in item.loops]
        return {
            **super().object_context(request, item),
            "title": f"Worker {item.id}",
            "state": worker_state(item),
            "loops": loops,
        }
