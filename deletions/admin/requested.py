"""What the lists of deletions have alike: of users, and of buckets."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobs.admin.queue_rows import QueueAdmin
from jobs.markup import cut, time_tag

REQUEUE_ALL = "Requeue all abandoned…"


class RequestedAdmin(QueueAdmin):
    """A queue of what somebody has requested."""

    @admin.display(description="requested")
    def asked(self, row: Any) -> SafeString:
        by = cut(row.requested_by, 40)
        at = time_tag(row.created_at, now=row.read_at)
        return format_html('{} <span class="console-quiet">{}</span>', at, by)
