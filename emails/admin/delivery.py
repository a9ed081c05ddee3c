"""The pages of the channel and of throttled domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString

from emails.admin.states import channel_state
from emails.list_verbs import try_channel_now
from emails.models import EmailChannel, EmailDomain
from emails.standing import ChannelItem, channel_item, channel_rows, domain_item, domain_rows
from jobs.admin.actions_taken import actions_taken
from jobs.admin.base import BigTableAdmin
from jobs.admin.verbs import Verb, VerbAdmin
from jobs.markup import cut, state_mark, time_tag

RESUME = Verb(
    name="resume",
    title="Try now",
    past="tried now",
    permission="emails.resume_emailchannel",
    explanation=(
        "It is tried with one mail at once, instead of at its next time. When that works, all "
        "workers go on."
    ),
    eligible=Q(paused_at__isnull=False),
    act=try_channel_now,
    suits=lambda item: item.paused_at is not None,
)


@admin.register(EmailChannel)
class EmailChannelAdmin(VerbAdmin, BigTableAdmin):
    object_template = "emails/admin/channel.html"
    is_live = True
    empty_words = "No delivery has failed yet."
    verbs = (RESUME,)
    list_display = ("shown_address", "state", "paused", "next_try", "error")
    list_display_links = ("shown_address",)

    def read_rows(self) -> QuerySet[EmailChannel]:
        return channel_rows()

    def read_item(self, number: int) -> ChannelItem | None:
        row = channel_rows().filter(pk=number).first()
        return None if row is None else channel_item(row)

    def has_resume_permission(self, request: HttpRequest) -> bool:
        return self.may(request, RESUME.name)

    @admin.display(description="delivery")
    def shown_address(self, row: Any) -> str:
        return str(row.address)

    @admin.display(description="state")
    def state(self, row: Any) -> SafeString:
        return state_mark(channel_state(channel_item(row)))

    @admin.display(description="paused")
    def paused(self, row: Any) -> SafeString | str:
        return time_tag(row.paused_at, now=row.read_at) if row.paused_at else ""

    @admin.display(description="next try")
    def next_try(self, row: Any) -> SafeString | str:
        return time_tag(row.next_try_at, now=row.read_at) if row.next_try_at else ""

    @admin.display(description="last error")
    def error(self, row: Any) -> str:
        return cut(row.last_error, 120)

    def object_context(self, request: HttpRequest, item: ChannelItem) -> Mapping[str, Any]:
        return {
            **super().object_context(request, item),
            "title": "Mail channel",
            "state": channel_state(item),
            **actions_taken(EmailChannel, item.id),
        }


@admin.register(EmailDomain)
class EmailDomainAdmin(BigTableAdmin):
    object_template = "emails/admin/domain.html"
    is_live = True
    empty_words = "No domain is held back."
    search_keys = {"domain": "domain"}
    list_display = ("domain", "throttled", "next_allowed", "failures", "error")

    def read_rows(self) -> QuerySet[EmailDomain]:
        return domain_rows()

    def read_item(self, number: int) -> Any:
        row = domain_rows().filter(pk=number).first()
        return None if row is None else domain_item(row)

    @admin.display(description="throttled")
    def throttled(self, row: Any) -> SafeString:
        return time_tag(row.throttled_at, now=row.read_at)

    @admin.display(description="next try")
    def next_allowed(self, row: Any) -> SafeString:
        return time_tag(row.next_allowed_at, now=row.read_at)

    @admin.display(description="answer")
    def error(self, row: Any) -> str:
        return cut(row.last_error, 120)

    def object_context(self, request: HttpRequest, item: Any) -> Mapping[str, Any]:
        return {**super().object_context(request, item), "title": item.domain}
