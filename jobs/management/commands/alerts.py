"""What is wrong, and who knows of it: ``manage.py alerts``."""

from __future__ import annotations

from argparse import ArgumentParser

from jobs.models.alert import AlertRule
from jobs.models.audit import Via
from jobs.output.actors import command_actor
from jobs.output.command import ConsoleCommand, Options
from jobs.output.options import add_actor, add_paging, instant_ahead, moment, row_id
from jobs.output.tables import Column
from jobs.output.words import when
from jobs.reads.alerts import OPEN, RESOLVED, AlertItem, list_alerts
from jobs.reads.bounded import bounded
from jobs.verbs import AcknowledgeAnswer, acknowledge_alert

ALL = "all"
TABLE = (
    Column(title="alert"),
    Column(title="rule"),
    Column(title="subject"),
    Column(title="state", is_state=True),
    Column(title="opened", shrinks=True),
    Column(title="acknowledged", shrinks=True),
    Column(title="detail", shrinks=True),
    Column(title="page", optional=True),
)


class Command(ConsoleCommand):
    help = "List alerts, and acknowledge them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = self.subcommands(parser)
        listed = commands.add("list", show_alerts, "open alerts, newest first")
        listed.add_argument("--state", default=OPEN, choices=(OPEN, RESOLVED, ALL))
        listed.add_argument("--rule", default="", choices=AlertRule.values)
        listed.add_argument("--subject", default="", help="a job's id, or a queue")
        add_paging(listed)
        known = commands.add("ack", acknowledge, "say that you know of an open alert")
        known.add_argument("alert", type=row_id, metavar="ID")
        known.add_argument("--until", type=moment, metavar="2h|TIME", help="for how long")
        add_actor(known, reason="--note")


def show_alerts(console: ConsoleCommand, options: Options) -> None:
    """Print a page of alerts."""
    with bounded():
        page = list_alerts(
            state="" if options["state"] == ALL else options["state"],
            rule=options["rule"],
            subject=options["subject"],
            limit=options["limit"],
            before_id=options["before"],
        )
    console.show_page(page, options, TABLE, _row, nothing="There are no such alerts.")


def acknowledge(console: ConsoleCommand, options: Options) -> None:
    """Acknowledge an alert."""
    until = options["until"]
    answer = acknowledge_alert(
        options["alert"],
        actor=command_actor(options["user"]),
        via=Via.COMMAND,
        reason=options["note"],
        until=None if until is None else instant_ahead(until),
    )
    console.show(answer, options, lambda: [_words(answer)])


def _words(answer: AcknowledgeAnswer) -> str:
    if answer.changed:
        return f"acknowledged alert {answer.alert_id}"
    return f"alert {answer.alert_id} is acknowledged already, with the same words"


def _row(alert: AlertItem) -> tuple[object, ...]:
    return (
        alert.id,
        alert.rule,
        alert.subject,
        alert.state,
        when(alert.opened_at, now=alert.read_at),
        _acknowledged(alert),
        alert.detail,
        alert.admin_url,
    )


def _acknowledged(alert: AlertItem) -> str:
    if not alert.is_acknowledged:
        return ""
    until = when(alert.acknowledged_until, now=alert.read_at)
    return f"{alert.acknowledged_by} until {until}" if until else alert.acknowledged_by
