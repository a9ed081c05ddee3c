"""``emails channel``, ``domains`` and ``suppressions``."""

from __future__ import annotations

from emails.errors import RefusedMessage
from emails.models import SuppressionReason
from emails.output.errors import RefusedInput
from emails.standing import (
    ChannelItem,
    DomainItem,
    SuppressionItem,
    get_channel,
    list_domains,
    list_suppressions,
)
from jobs.output.command import ConsoleCommand, Options, Subcommands
from jobs.output.options import add_paging
from jobs.output.tables import Column
from jobs.output.words import when
from jobs.reads.bounded import bounded

DOMAINS = (
    Column(title="domain"),
    Column(title="throttled", shrinks=True),
    Column(title="next try", shrinks=True),
    Column(title="in a row"),
    Column(title="answer", shrinks=True),
    Column(title="page", optional=True),
)
SUPPRESSIONS = (
    Column(title="id"),
    Column(title="address", shrinks=True),
    Column(title="reason"),
    Column(title="stops"),
    Column(title="until", shrinks=True),
    Column(title="since", shrinks=True),
    Column(title="detail", shrinks=True),
    Column(title="page", optional=True),
)


def add_to(commands: Subcommands) -> None:
    """Add them."""
    commands.add("channel", show_channel, "whether mail goes out, and why not")
    add_paging(commands.add("domains", show_domains, "domains that asked for patience"))
    listed = commands.add("suppressions", show_suppressions, "addresses that get nothing")
    listed.add_argument("--address", default="", help="in any spelling")
    listed.add_argument("--kind", default="", choices=SuppressionReason.values)
    add_paging(listed)


def show_channel(console: ConsoleCommand, options: Options) -> None:
    """Print the state of the channel."""
    with bounded():
        channel = get_channel()
    console.show(channel, options, lambda: channel_lines(channel))


def channel_lines(channel: ChannelItem) -> list[str]:
    """Return the state of the channel in words."""
    facts = {
        "address": channel.address,
        "paused": when(channel.paused_at, now=channel.read_at),
        "next try": when(channel.next_try_at, now=channel.read_at),
        "failures in a row": channel.failures or "",
        "last error": channel.last_error,
        "last failure": when(channel.failed_at, now=channel.read_at),
        "resumed": when(channel.resumed_at, now=channel.read_at),
        "page": channel.admin_url,
    }
    return [channel.state, *(f"  {name}: {value}" for name, value in facts.items() if value)]


def show_domains(console: ConsoleCommand, options: Options) -> None:
    """Print a page of throttled domains."""
    with bounded():
        page = list_domains(limit=options["limit"], before_id=options["before"])
    console.show_page(page, options, DOMAINS, _domain_row, nothing="No domain is held back.")


def show_suppressions(console: ConsoleCommand, options: Options) -> None:
    """Print a page of the suppression list."""
    try:
        with bounded():
            page = list_suppressions(
                address=options["address"],
                reason=options["kind"],
                limit=options["limit"],
                before_id=options["before"],
            )
    except RefusedMessage as error:
        raise RefusedInput(error) from error
    console.show_page(page, options, SUPPRESSIONS, _entry_row, nothing="There is no such entry.")


def _domain_row(domain: DomainItem) -> tuple[object, ...]:
    return (
        domain.domain,
        when(domain.throttled_at, now=domain.read_at),
        when(domain.next_allowed_at, now=domain.read_at),
        domain.failures,
        domain.last_error,
        domain.admin_url,
    )


def _entry_row(entry: SuppressionItem) -> tuple[object, ...]:
    stops = entry.scope if entry.scope == "everything" else entry.list_name or "list mail"
    return (
        entry.id,
        entry.address,
        entry.reason,
        stops,
        when(entry.until, now=entry.read_at) or "for ever",
        when(entry.created_at, now=entry.read_at),
        entry.detail,
        entry.admin_url,
    )
