"""The audit log: who pressed what, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from jobs.admin.base import BigTableAdmin
from jobs.admin.filters import since
from jobs.markup import cut, json_text, time_tag
from jobs.models import AuditLog
from jobs.reads.audit import AuditItem, audit_rows, get_audit


@admin.register(AuditLog)
class AuditLogAdmin(BigTableAdmin):
    object_template = "jobs/admin/audit.html"
    empty_words = "Nobody has done anything by hand yet."
    counted_as = ("entry", "entries")
    search_keys = {"target": "target"}
    list_filter = (since("at"),)
    list_display = ("when", "actor", "verb", "target", "why", "via")

    def read_rows(self) -> QuerySet[AuditLog]:
        return audit_rows()

    def read_item(self, number: int) -> AuditItem | None:
        return get_audit(number)

    @admin.display(description="time")
    def when(self, row: Any) -> SafeString | str:
        return self.row_link(row, time_tag(row.at, now=row.read_at))

    @admin.display(description="reason")
    def why(self, row: Any) -> str:
        return cut(row.reason, 120)

    def object_context(self, request: HttpRequest, item: AuditItem) -> Mapping[str, Any]:
        return {
            **super().object_context(request, item),
            "detail_text": json_text(item.detail) if item.detail else "",
        }
