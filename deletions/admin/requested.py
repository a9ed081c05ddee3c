"""What the pages of deletions have alike: of users, and of buckets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from deletions.admin.states import DELETION_STATES
from deletions.standing import DEAD, STATES
from jobs.admin.actions_taken import actions_taken
from jobs.admin.filters import ConditionFilter
from jobs.admin.queue_rows import QueueAdmin
from jobs.markup import cut, state_mark, time_tag

REQUEUE_ALL = "Requeue all abandoned…"


class StateFilter(ConditionFilter):
    title = "status"
    parameter_name = "status"
    conditions = {name: (DELETION_STATES[name].word, rows) for name, rows in STATES.items()}


class RequestedAdmin(QueueAdmin):
    """A queue of what somebody has requested, with the verbs ``requeue`` and ``cancel``."""

    is_live = True
    verb_scopes = {DEAD: STATES[DEAD]}
    list_filter = (StateFilter,)

    def item(self, row: Any) -> Any:
        """Return a row of the list as its value."""
        raise NotImplementedError

    def has_requeue_permission(self, request: HttpRequest) -> bool:
        return self.may(request, "requeue")

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return self.may(request, "cancel")

    @admin.display(description="status")
    def state(self, row: Any) -> SafeString:
        return state_mark(DELETION_STATES[self.item(row).state])

    @admin.display(description="attempts")
    def tries(self, row: Any) -> str:
        return f"{row.attempts} of {self.item(row).max_attempts}" if row.attempts else ""

    @admin.display(description="requested")
    def asked(self, row: Any) -> SafeString:
        by = cut(row.requested_by, 40)
        at = time_tag(row.created_at, now=row.read_at)
        return format_html('{} <span class="console-quiet">{}</span>', at, by)

    def object_context(self, request: HttpRequest, item: Any) -> Mapping[str, Any]:
        return {
            **super().object_context(request, item),
            "state": DELETION_STATES[item.state],
            **actions_taken(self.model, item.id),
        }
