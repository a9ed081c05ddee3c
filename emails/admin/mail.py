"""Mail: the queue's list, and the page of one mail."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from emails import copies, verbs
from emails.admin.bodies import BodyAdmin
from emails.admin.states import EMAIL_STATES, RECIPIENT_STATES, channel_state
from emails.models import EmailChannel, EmailDomain, EmailJob
from emails.reads import DEAD, STATES, EmailDetail, email_item, email_rows, get_email
from emails.standing import count_domains, dead_letter_reasons, get_channel
from jobs.admin.actions_taken import actions_taken
from jobs.admin.filters import ConditionFilter
from jobs.admin.queue_rows import QueueAdmin
from jobs.admin.verbs import Verb
from jobs.errors import SettingError
from jobs.markup import cut, link, state_mark, time_tag
from jobs.reads.bounded import bounded
from jobs.reads.errors import SlowReadError
from jobs.reads.links import list_path, object_path

RETRY = Verb(
    name="retry",
    title="Retry",
    past="retried",
    permission="emails.retry_emailjob",
    explanation=(
        "Each becomes due now and begins anew, with no attempts counted. Recipients that "
        "already have it get no second copy; those refused for good are tried again only "
        "where all were refused."
    ),
    eligible=verbs.RETRIABLE,
    act=verbs.retry,
    suits=lambda item: item.status == "failed",
)
CANCEL = Verb(
    name="cancel",
    title="Cancel",
    past="cancelled",
    permission="emails.cancel_emailjob",
    explanation="Each will not be sent. What a worker is sending right now is left alone.",
    eligible=verbs.CANCELLABLE,
    act=verbs.cancel,
    suits=lambda item: item.status in ("pending", "failed"),
)


RESEND = Verb(
    name="resend",
    title="Resend a copy",
    past="queued as a copy",
    permission="emails.resend_emailjob",
    explanation=(
        "A new mail with the same content goes to all recipients of each, also to those who have "
        "it, under a new Message-ID and Date. Suppressed addresses are left out."
    ),
    eligible=Q(status__in=copies.RESENDABLE, body__isnull=False),
    act=copies.resend,
    suits=lambda item: item.status in copies.RESENDABLE and bool(item.headers),
)


class StateFilter(ConditionFilter):
    title = "status"
    parameter_name = "status"
    conditions = {name: (EMAIL_STATES[name].word, rows) for name, rows in STATES.items()}


class DuplicateFilter(ConditionFilter):
    title = "possible duplicate"
    parameter_name = "duplicate"
    conditions = {"yes": ("yes", Q(possible_duplicate=True))}


@admin.register(EmailJob)
class EmailJobAdmin(QueueAdmin, BodyAdmin):
    change_list_template = "emails/admin/mail_list.html"
    object_template = "emails/admin/mail.html"
    is_live = True
    empty_words = "No mail was queued yet. Try one: manage.py sendtestemail you@example.com"
    search_keys = {"kind": "kind", "message-id": "message_id", "user": "user_id"}
    verbs = (RETRY, CANCEL, RESEND)
    verb_scopes = {DEAD: STATES[DEAD]}
    revive = (RETRY, DEAD, "Retry all dead letters…")
    list_filter = (StateFilter, DuplicateFilter)
    list_display = ("number", "to", "subject_head", "state", "tries", "due", "queued")

    def read_rows(self) -> QuerySet[EmailJob]:
        return email_rows()

    def read_item(self, number: int) -> EmailDetail | None:
        return get_email(number)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return self.may(request, RETRY.name)

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return self.may(request, CANCEL.name)

    def has_resend_permission(self, request: HttpRequest) -> bool:
        return self.may(request, RESEND.name)

    @admin.display(description="to")
    def to(self, row: Any) -> SafeString:
        item = email_item(row)
        more = f"+ {item.more_recipients:,}" if item.more_recipients else ""
        return format_html('{} <span class="console-quiet">{}</span>', cut(item.to, 60), more)

    @admin.display(description="subject, kind")
    def subject_head(self, row: Any) -> SafeString | str:
        head = cut(row.subject, 60)
        if not row.kind:
            return head
        kind = link(list_path(EmailJob, q=f"kind:{row.kind}"), row.kind)
        return format_html('{} <span class="console-kind">{}</span>', head, kind)

    @admin.display(description="status")
    def state(self, row: Any) -> SafeString:
        mark = state_mark(EMAIL_STATES[email_item(row).state])
        if not row.possible_duplicate:
            return mark
        return format_html('{} <span class="console-quiet">possible duplicate</span>', mark)

    @admin.display(description="attempts, last code")
    def tries(self, row: Any) -> SafeString | str:
        tries = f"{row.attempts} of {row.max_attempts}" if row.attempts else ""
        if not tries or not row.last_code:
            return tries
        return format_html('{} <span class="console-kind">{}</span>', tries, row.last_code)

    @admin.display(description="queued")
    def queued(self, row: Any) -> SafeString:
        return time_tag(row.created_at, now=row.read_at)

    def sample_words(self, row: EmailJob) -> str:
        """Return the line of a mail on a verb's page."""
        return cut(f"{row.pk} · {row.to_display} · {row.subject}", 120)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(request, {**_standing(request), **(extra_context or {})})

    def object_context(self, request: HttpRequest, item: EmailDetail) -> Mapping[str, Any]:
        recipients = [(each, RECIPIENT_STATES.get(each.state)) for each in item.recipients]
        return {
            **super().object_context(request, item),
            "title": f"Mail {item.id}",
            "state": EMAIL_STATES[item.state],
            "recipients": recipients,
            "body_path": self.body_path(item.id) if self.may_view_body(request) else "",
            "kind_path": list_path(EmailJob, q=f"kind:{item.kind}") if item.kind else "",
            **actions_taken(EmailJob, item.id),
        }


def _standing(request: HttpRequest) -> dict[str, Any]:
    """Return the channel's card, and why dead letters died where they are looked at."""
    try:
        with bounded():
            channel = get_channel()
            held = count_domains()
            reasons = dead_letter_reasons() if request.GET.get("status") == DEAD else ()
    except (SlowReadError, SettingError):
        return {}
    return {
        "channel": channel,
        "channel_state": channel_state(channel),
        "channel_path": object_path(EmailChannel, channel.id) if channel.id else "",
        "domains_held": held,
        "domains_path": list_path(EmailDomain),
        "reasons": [(each, object_path(EmailJob, each.newest_id)) for each in reasons],
    }
