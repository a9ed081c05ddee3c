"""The outbox: the list of events, and the page of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobs.admin.actions_taken import actions_taken
from jobs.admin.filters import ConditionFilter
from jobs.admin.queue_rows import QueueAdmin
from jobs.admin.verbs import Verb
from jobs.markup import State, cut, json_text, state_mark, time_tag
from jobs.reads.links import object_path
from realtime import verbs
from realtime.models import OutboxEvent, OutboxStatus
from realtime.reads import (
    DEAD,
    RETRYING,
    STATES,
    EventDetail,
    event_item,
    event_rows,
    get_event,
)

VIEW_PAYLOAD = "realtime.view_outboxpayload"
EVENT_STATES: Mapping[str, State] = {
    OutboxStatus.PENDING: State(shape="○", tone="quiet", word="pending"),
    OutboxStatus.PROCESSING: State(shape="◐", tone="busy", word="processing"),
    RETRYING: State(shape="▲", tone="warn", word="retrying"),
    DEAD: State(shape="■", tone="bad", word="dead letter"),
    OutboxStatus.COMPLETED: State(shape="●", tone="good", word="completed"),
}
RETRY = Verb(
    name="retry",
    title="Retry",
    past="retried",
    permission="realtime.retry_outboxevent",
    explanation=(
        "Each becomes due now and begins anew, with no attempts counted. Clients may have seen "
        "later events of the same key in the meantime."
    ),
    eligible=verbs.RETRIABLE,
    act=verbs.retry,
    suits=lambda item: item.status == "failed",
)


class StateFilter(ConditionFilter):
    title = "status"
    parameter_name = "status"
    conditions = {name: (EVENT_STATES[name].word, rows) for name, rows in STATES.items()}


@admin.register(OutboxEvent)
class OutboxEventAdmin(QueueAdmin):
    object_template = "realtime/admin/event.html"
    is_live = True
    empty_words = "Nothing was published yet."
    verbs = (RETRY,)
    verb_scopes = {DEAD: STATES[DEAD]}
    revive = (RETRY, DEAD, "Retry all dead letters…")
    list_filter = (StateFilter,)
    list_display = ("number", "what", "audience_words", "state", "tries", "due", "written")

    def read_rows(self) -> QuerySet[OutboxEvent]:
        return event_rows()

    def read_item(self, number: int) -> EventDetail | None:
        return get_event(number)

    def changes_by_itself(self, item: EventDetail) -> bool:
        return item.status != OutboxStatus.COMPLETED

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return self.may(request, RETRY.name)

    @admin.display(description="topic, event, ordering key")
    def what(self, row: Any) -> SafeString:
        head = f"{cut(row.topic, 60)} · {cut(row.event, 40)}"
        key = cut(row.ordering_key or "", 40)
        return format_html('{} <span class="console-quiet">{}</span>', head, key)

    @admin.display(description="for")
    def audience_words(self, row: Any) -> str:
        return event_item(row).mode

    @admin.display(description="status")
    def state(self, row: Any) -> SafeString:
        return state_mark(EVENT_STATES[event_item(row).state])

    @admin.display(description="attempts")
    def tries(self, row: Any) -> str:
        return f"{row.attempts} of {event_item(row).max_attempts}" if row.attempts else ""

    @admin.display(description="written")
    def written(self, row: Any) -> SafeString:
        return time_tag(row.created_at, now=row.read_at)

    def sample_words(self, row: OutboxEvent) -> str:
        """Return the line of an event on a verb's page."""
        return cut(f"{row.pk} · {row.topic} · {row.event} · {row.ordering_key or ''}", 120)

    def object_context(self, request: HttpRequest, item: EventDetail) -> Mapping[str, Any]:
        may_see = request.user.has_perm(VIEW_PAYLOAD)
        return {
            **super().object_context(request, item),
            "title": f"{item.event} on {item.topic}",
            "state": EVENT_STATES[item.state],
            "audience": json_text(item.audience),
            "payload": json_text(item.payload) if may_see else "",
            "waits_for_path": object_path(OutboxEvent, item.waits_for) if item.waits_for else "",
            **actions_taken(OutboxEvent, item.id),
        }
