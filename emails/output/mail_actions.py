"""``emails retry``, ``cancel`` and ``resend``."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import Q

from emails import copies, verbs
from emails.models import EmailJob
from emails.output.errors import NothingNamed
from emails.reads import DEAD_LETTERS
from jobs.audit import Outcome, Refusal
from jobs.commands import EXIT_PROBLEM
from jobs.models.audit import Via
from jobs.output.acted import changed_lines
from jobs.output.actors import command_actor
from jobs.output.command import ConsoleCommand, Options, Subcommands
from jobs.output.options import add_actor, row_id
from jobs.reads.links import admin_url
from jobs.verbs.actors import as_user

UNASKED = 1000


@dataclass(frozen=True, kw_only=True)
class ActionAnswer:
    """What a verb did to mail, or would do."""

    verb: str
    changed: tuple[int, ...]
    refused: tuple[Refusal, ...]
    up_to: int | None  # the highest id that was looked at
    dry_run: bool
    admin_url: str  # of the mail, where it is one


def add_to(commands: Subcommands) -> None:
    """Add them."""
    retried = commands.add("retry", retry, "make failed mail due now, with no attempts counted")
    retried.add_argument("--all-dead", action="store_true", help="every dead letter of this moment")
    _add_common(retried)
    _add_common(commands.add("cancel", cancel, "cancel mail that waits: it will not be sent"))
    _add_common(
        commands.add("resend", resend, "queue a copy of mail, under a new Message-ID and Date")
    )


def _add_common(parser: ArgumentParser) -> None:
    parser.add_argument("mails", type=row_id, nargs="*", metavar="ID")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_actor(parser)


def retry(console: ConsoleCommand, options: Options) -> None:
    """Retry the named mail, or all dead letters up to the highest id of now."""
    ids = _named(options) if not options["all_dead"] else _all_dead(options)
    asks = len(ids) > UNASKED
    _act(console, options, "retry", ids, verbs.RETRIABLE, verbs.retry, asks=asks)


def cancel(console: ConsoleCommand, options: Options) -> None:
    """Cancel the named mail; it asks, since what is cancelled is not sent any more."""
    _act(console, options, "cancel", _named(options), verbs.CANCELLABLE, verbs.cancel, asks=True)


def resend(console: ConsoleCommand, options: Options) -> None:
    """Send copies of the named mail."""
    eligible = Q(status__in=copies.RESENDABLE, body__isnull=False)
    _act(console, options, "resend", _named(options), eligible, copies.resend, asks=False)


def _named(options: Options) -> list[int]:
    if not options["mails"]:
        raise NothingNamed(options["subcommand"])
    return list(options["mails"])


def _all_dead(options: Options) -> list[int]:
    if options["mails"]:
        raise NothingNamed("retry", also=True)
    dead = EmailJob.objects.filter(DEAD_LETTERS)
    return list(dead.order_by("pk").values_list("pk", flat=True))


def _act(
    console: ConsoleCommand,
    options: Options,
    verb: str,
    ids: list[int],
    eligible: Q,
    act: Callable[..., Outcome],
    *,
    asks: bool,
) -> None:
    highest = max(ids, default=None)
    if options["dry_run"]:
        rows = EmailJob.objects.filter(eligible, pk__in=ids).order_by("pk")
        outcome = Outcome(changed=tuple(rows.values_list("pk", flat=True)))
    else:
        if asks and ids and not console.confirm(f"{verb} {len(ids):,} mails", options):
            console.notice("Nothing was done.")
            console.leave(EXIT_PROBLEM)
        actor = as_user(command_actor(options["user"]))
        outcome = act(ids, actor=actor, via=Via.COMMAND, reason=options["reason"])
    answer = ActionAnswer(
        verb=verb,
        changed=outcome.changed,
        refused=outcome.refused,
        up_to=highest,
        dry_run=options["dry_run"],
        admin_url=admin_url(EmailJob, outcome.changed[0]) if len(outcome.changed) == 1 else "",
    )
    what = _what(verb, dry_run=answer.dry_run)
    console.show(answer, options, lambda: changed_lines(outcome, what=what, noun="mail"))
    console.leave(EXIT_PROBLEM if ids and not outcome.changed else 0)


def _what(verb: str, *, dry_run: bool) -> str:
    if dry_run:
        return f"would {verb}"
    return "resend: queued" if verb == "resend" else verb
