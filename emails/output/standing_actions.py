"""``emails suppress``, ``unsuppress`` and ``resume``."""

from __future__ import annotations

from dataclasses import dataclass

from emails.errors import RefusedMessage
from emails.list_verbs import suppress_address, try_channel_now, unsuppress_address
from emails.models import EmailSuppression, SuppressionReason
from emails.output.errors import RefusedInput
from emails.standing import get_channel
from jobs.audit import Outcome
from jobs.commands import EXIT_PROBLEM
from jobs.models.audit import Via
from jobs.output.actors import command_actor
from jobs.output.command import ConsoleCommand, Options, Subcommands
from jobs.output.options import add_actor, instant_ahead, moment
from jobs.reads.links import admin_url
from jobs.verbs.actors import as_user


@dataclass(frozen=True, kw_only=True)
class SuppressionAnswer:
    """What became of an address."""

    address: str
    changed: tuple[int, ...]  # entries
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class ResumeAnswer:
    """Whether the channel is tried now."""

    changed: bool
    state: str
    admin_url: str


def add_to(commands: Subcommands) -> None:
    """Add them."""
    put = commands.add("suppress", suppress, "send nothing, or no list mail, to an address")
    put.add_argument("address", metavar="ADDRESS")
    put.add_argument(
        "--kind", default=SuppressionReason.MANUAL.value, choices=SuppressionReason.values
    )
    put.add_argument("--list", default="", metavar="NAME", help="only mail of this list")
    put.add_argument("--until", type=moment, metavar="30d|TIME", help="default: for ever")
    add_actor(put)
    taken = commands.add("unsuppress", unsuppress, "take an address off the list")
    taken.add_argument("address", metavar="ADDRESS")
    taken.add_argument(
        "--kind", default="", choices=SuppressionReason.values, help="only entries of this kind"
    )
    taken.add_argument("--list", default="", metavar="NAME", help="only entries of this list")
    add_actor(taken)
    add_actor(commands.add("resume", resume, "try a paused channel now"))


def suppress(console: ConsoleCommand, options: Options) -> None:
    """Suppress an address."""
    until = options["until"]
    try:
        outcome = suppress_address(
            options["address"],
            actor=as_user(command_actor(options["user"])),
            via=Via.COMMAND,
            reason=options["reason"],
            kind=options["kind"],
            list_name=options["list"],
            until=None if until is None else instant_ahead(until),
        )
    except RefusedMessage as error:
        raise RefusedInput(error) from error
    answer = _answer(options["address"], outcome)
    words = f"suppressed {answer.address}" if outcome.changed else "it is suppressed already"
    console.show(answer, options, lambda: [words])


def unsuppress(console: ConsoleCommand, options: Options) -> None:
    """Take an address off the suppression list."""
    try:
        outcome = unsuppress_address(
            options["address"],
            actor=as_user(command_actor(options["user"])),
            via=Via.COMMAND,
            reason=options["reason"],
            kind=options["kind"],
            list_name=options["list"],
        )
    except RefusedMessage as error:
        raise RefusedInput(error) from error
    entries = "entry" if len(outcome.changed) == 1 else "entries"
    words = f"removed {len(outcome.changed)} {entries} of {options['address']}"
    console.show(_answer(options["address"], outcome), options, lambda: [words])
    console.leave(0 if outcome.changed else EXIT_PROBLEM)


def resume(console: ConsoleCommand, options: Options) -> None:
    """End the wait of the configured channel."""
    channel = get_channel()
    outcome = try_channel_now(
        [] if channel.id is None else [channel.id],
        actor=as_user(command_actor(options["user"])),
        via=Via.COMMAND,
        reason=options["reason"],
    )
    answer = ResumeAnswer(
        changed=bool(outcome.changed), state=channel.state, admin_url=channel.admin_url
    )
    words = "the channel is tried now" if answer.changed else f"the channel is {channel.state}"
    console.show(answer, options, lambda: [words])


def _answer(address: str, outcome: Outcome) -> SuppressionAnswer:
    one = outcome.changed[0] if len(outcome.changed) == 1 else None
    url = admin_url(EmailSuppression, one) if one is not None else ""
    return SuppressionAnswer(address=address, changed=outcome.changed, admin_url=url)
