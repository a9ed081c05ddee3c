"""Who is connected: the list of sockets."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from jobs.admin.base import ReadOnlyAdmin
from jobs.clock import Now
from jobs.markup import State, cut, state_mark, time_tag
from realtime.models import RealtimeSession

CONNECTED = State(shape="●", tone="good", word="connected")
EXPIRED = State(shape="—", tone="quiet", word="expired")
TOPICS_SHOWN = 5


@admin.register(RealtimeSession)
class RealtimeSessionAdmin(ReadOnlyAdmin):
    object_template = "realtime/admin/session.html"
    is_live = True
    empty_words = "Nobody is connected."
    ordering = ("-connected_at", "sid")
    list_per_page = 50
    list_display = ("socket", "user", "topic_names", "state", "since", "process")

    def read_rows(self) -> QuerySet[RealtimeSession]:
        return RealtimeSession.objects.annotate(read_at=Now())

    def read_object(self, request: HttpRequest, key: str) -> Any:
        del request
        return self.read_rows().filter(pk=key).first()

    @admin.display(description="socket")
    def socket(self, row: Any) -> SafeString | str:
        return self.row_link(row, cut(row.sid, 40))

    @admin.display(description="user")
    def user(self, row: Any) -> str:
        return cut(row.user_key, 40)

    @admin.display(description="topics")
    def topic_names(self, row: Any) -> str:
        shown = ", ".join(cut(topic, 40) for topic in row.topics[:TOPICS_SHOWN])
        more = len(row.topics) - TOPICS_SHOWN
        return f"{shown} and {more} more" if more > 0 else shown

    @admin.display(description="state")
    def state(self, row: Any) -> SafeString:
        return state_mark(state_of(row))

    @admin.display(description="connected")
    def since(self, row: Any) -> SafeString:
        return time_tag(row.connected_at, now=row.read_at)

    @admin.display(description="process")
    def process(self, row: Any) -> str:
        return cut(row.process_id, 60)


def state_of(row: Any) -> State:
    """Return whether the socket counts as connected."""
    return CONNECTED if row.expires_at > row.read_at else EXPIRED
