"""Alerts: what is wrong and since when, and the page of one alert."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobs.admin.actions_taken import actions_taken
from jobs.admin.base import BigTableAdmin
from jobs.admin.filters import ConditionFilter, choices_filter
from jobs.admin.tables import table_of
from jobs.admin.verb_form import VerbForm
from jobs.admin.verbs import Verb, VerbAdmin
from jobs.alerts.runbook import RUNBOOK
from jobs.audit import Outcome, Refusal
from jobs.clock import Now
from jobs.deadletters import dead_letter_queues
from jobs.declarations import registry
from jobs.errors import EngineroomError
from jobs.markup import State, alert_state, cut, json_text, link, state_mark, time_tag
from jobs.models import Alert, JobRun, JobState, Worker
from jobs.models.alert import AlertRule
from jobs.models.audit import Via
from jobs.reads.alerts import AlertItem, NotificationItem, alert_item, alert_rows, get_alert
from jobs.reads.links import list_path, object_path
from jobs.reads.words import duration_words
from jobs.schedule import database_now
from jobs.verbs import acknowledge_alert

RUNS_LINKED = 10
OPEN = Q(resolved_at__isnull=True)
KNOWN = Q(acknowledged_at__isnull=False) & (
    Q(acknowledged_until__isnull=True) | Q(acknowledged_until__gt=Now())
)


class AcknowledgeForm(VerbForm):
    """Asks besides until when somebody sees to it."""

    until = forms.DateTimeField(
        required=False,
        label="Until (UTC; empty: until it is resolved)",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )

    def clean_until(self) -> dt.datetime | None:
        given: dt.datetime | None = self.cleaned_data["until"]
        if given is None:
            return None
        # The form's own zone is the project's; the console speaks UTC.
        until = timezone.make_naive(given).replace(tzinfo=dt.UTC)
        if until <= database_now():
            raise forms.ValidationError("That is past: name a later time.")
        return until

    @property
    def asked(self) -> dict[str, Any]:
        return {"until": self.cleaned_data["until"]}


def acknowledge(
    rows: QuerySet[Any], /, *, actor: Any, via: Via, reason: str, **asked: Any
) -> Outcome:
    """Acknowledge alerts, oldest first; ``asked`` holds until when."""
    changed, refused = [], []
    for alert_id in rows.order_by("pk").values_list("pk", flat=True):
        try:
            answer = acknowledge_alert(alert_id, actor=actor, via=via, reason=reason, **asked)
        except EngineroomError as error:
            refused.append(Refusal(id=alert_id, why=f"({error})"))
            continue
        if answer.changed:
            changed.append(alert_id)
    return Outcome(changed=tuple(changed), refused=tuple(refused))


ACKNOWLEDGE = Verb(
    name="acknowledge",
    title="Acknowledge",
    past="acknowledged",
    permission=acknowledge_alert.permission,
    explanation=(
        "It is shown as known, with your name and the reason as a note, until the time you name "
        "or until it is resolved. It stays open: only what it waits for closes it."
    ),
    eligible=OPEN,
    act=acknowledge,
    suits=lambda item: item.resolved_at is None,
    form=AcknowledgeForm,
)


class StateFilter(ConditionFilter):
    title = "state"
    parameter_name = "state"
    conditions = {
        "open": ("open", OPEN),
        "unknown": ("open, nobody knows", OPEN & ~KNOWN),
        "acknowledged": ("acknowledged", OPEN & KNOWN),
        "resolved": ("resolved", ~OPEN),
    }


@admin.register(Alert)
class AlertAdmin(VerbAdmin, BigTableAdmin):
    object_template = "jobs/admin/alert.html"
    empty_words = "Nothing is wrong, and nothing was."
    is_live = True
    verbs = (ACKNOWLEDGE,)
    search_keys = {"subject": "subject"}
    list_filter = (StateFilter, choices_filter("rule", AlertRule))
    list_display = ("rule_name", "about", "state", "opened", "seen", "lasted", "proof")

    def read_rows(self) -> QuerySet[Alert]:
        return alert_rows()

    def read_item(self, number: int) -> AlertItem | None:
        return get_alert(number)

    def has_acknowledge_permission(self, request: HttpRequest) -> bool:
        return self.may(request, ACKNOWLEDGE.name)

    @admin.display(description="rule")
    def rule_name(self, row: Any) -> SafeString | str:
        return self.row_link(row, row.get_rule_display())

    @admin.display(description="subject")
    def about(self, row: Any) -> SafeString:
        subject = link(subject_path(alert_item(row)), subject_words(row.subject))
        words = '{}<span class="console-summary">{}</span>'
        return format_html(words, subject, cut(row.detail, 160))

    @admin.display(description="state")
    def state(self, row: Any) -> SafeString:
        return state_mark(alert_state(alert_item(row)))

    @admin.display(description="opened")
    def opened(self, row: Any) -> SafeString:
        return time_tag(row.opened_at, now=row.read_at)

    @admin.display(description="last seen")
    def seen(self, row: Any) -> SafeString:
        return time_tag(row.last_seen_at, now=row.read_at)

    @admin.display(description="duration")
    def lasted(self, row: Any) -> SafeString:
        return format_html('<span class="console-number">{}</span>', duration(alert_item(row)))

    @admin.display(description="evidence")
    def proof(self, row: Any) -> SafeString | str:
        runs = alert_item(row).evidence_run_ids
        if not runs:
            return ""
        newest = link(object_path(JobRun, max(runs)), f"run {max(runs)}")
        more = f" and {len(runs) - 1:,} more" if len(runs) > 1 else ""
        return format_html("{}{}", newest, more)

    def sample_words(self, row: Any) -> str:
        """Return the line of an alert on a verb's page."""
        return cut(f"{row.get_rule_display()} · {subject_words(row.subject)} · {row.detail}", 160)

    def object_context(self, request: HttpRequest, item: AlertItem) -> Mapping[str, Any]:
        numbers = {name: value for name, value in item.evidence.items() if name != "run_ids"}
        return {
            **super().object_context(request, item),
            "title": f"{AlertRule(item.rule).label}: {subject_words(item.subject)}",
            "state": alert_state(item),
            "rule": AlertRule(item.rule).label,
            "subject": subject_words(item.subject),
            "subject_path": subject_path(item),
            "lasted": duration(item),
            "runbook": RUNBOOK[AlertRule(item.rule)],
            "runs": [(number, object_path(JobRun, number)) for number in _linked(item)],
            "notifications": [_told(entry) for entry in item.notifications],
            "numbers": table_of(numbers),
            "numbers_text": json_text(numbers) if numbers else "",
            **actions_taken(Alert, item.id),
        }


def subject_words(subject: str) -> str:
    """Return what an alert is about."""
    return "all workers" if subject == "-" else subject


def subject_path(item: AlertItem) -> str:
    """Return the page of what an alert is about: its job, its dead letters, the workers."""
    match item.rule:
        case AlertRule.NO_WORKER:
            return list_path(Worker)
        case AlertRule.DEAD_LETTER_DEPTH:
            return _dead_letters_path(item.subject)
    job_id = str(item.evidence.get("job_id") or item.subject)
    return object_path(JobState, job_id) if registry.find(job_id) else ""


def duration(item: AlertItem) -> str:
    """Return how long an alert was open, or is so far."""
    end = item.resolved_at or item.read_at
    return duration_words((end - item.opened_at).total_seconds())


def _dead_letters_path(table: str) -> str:
    for queue in dead_letter_queues():
        if queue.queue == table:
            return list_path(queue.rows().model, status="dead")
    return ""


def _told(entry: NotificationItem) -> dict[str, Any]:
    match entry.ok:
        case True:
            state = State(shape="●", tone="good", word="told")
        case False:
            state = State(shape="■", tone="bad", word="failed")
        case _:
            state = State(shape="○", tone="quiet", word="no answer yet")
    return {"item": entry, "state": state, "at": parse_datetime(entry.at) if entry.at else None}


def _linked(item: AlertItem) -> list[int]:
    return sorted(item.evidence_run_ids, reverse=True)[:RUNS_LINKED]
