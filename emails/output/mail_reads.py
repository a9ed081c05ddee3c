"""``emails list`` and ``emails show``."""

from __future__ import annotations

from emails.errors import UnknownMail
from emails.reads import STATES, EmailDetail, EmailItem, get_email, list_emails
from jobs.output.command import ConsoleCommand, Options, Subcommands
from jobs.output.options import add_paging, row_id
from jobs.output.tables import Column, table_lines
from jobs.output.words import when, yes_no
from jobs.reads.bounded import bounded

TABLE = (
    Column(title="mail"),
    Column(title="state", is_state=True),
    Column(title="to", shrinks=True),
    Column(title="subject", shrinks=True),
    Column(title="kind"),
    Column(title="tries"),
    Column(title="next try", shrinks=True),
    Column(title="error", shrinks=True),
    Column(title="queued", shrinks=True, optional=True),
    Column(title="page", optional=True),
)
RECIPIENTS = (
    Column(title="recipient"),
    Column(title="state", is_state=True),
    Column(title="answer", shrinks=True),
)


def add_to(commands: Subcommands) -> None:
    """Add both."""
    listed = commands.add("list", show_mails, "mail, newest first")
    listed.add_argument("--state", default="", choices=[str(name) for name in STATES])
    listed.add_argument("--kind", default="", help="the label given to the mail, exactly")
    add_paging(listed)
    shown = commands.add("show", show_mail, "one mail with its recipients and its history")
    shown.add_argument("mail", type=row_id, metavar="ID")


def show_mails(console: ConsoleCommand, options: Options) -> None:
    """Print a page of mail."""
    with bounded():
        page = list_emails(
            state=options["state"],
            kind=options["kind"],
            limit=options["limit"],
            before_id=options["before"],
        )
    console.show_page(page, options, TABLE, _row, nothing="There is no such mail.")


def show_mail(console: ConsoleCommand, options: Options) -> None:
    """Print one mail, without its body."""
    with bounded():
        mail = get_email(options["mail"])
    if mail is None:
        raise UnknownMail(options["mail"])
    console.show(mail, options, lambda: _lines(mail))


def _row(mail: EmailItem) -> tuple[object, ...]:
    more = f" + {mail.more_recipients:,}" if mail.more_recipients else ""
    return (
        mail.id,
        mail.state,
        f"{mail.to}{more}",
        mail.subject,
        mail.kind,
        f"{mail.attempts}/{mail.max_attempts}",
        when(mail.next_retry_at, now=mail.read_at),
        mail.error_head,
        when(mail.created_at, now=mail.read_at),
        mail.admin_url,
    )


def _lines(mail: EmailDetail) -> list[str]:
    facts = {
        "state": mail.state + (f" ({mail.outcome})" if mail.outcome else ""),
        "subject": mail.subject,
        "from": mail.mail_from,
        "kind": mail.kind,
        "attempts": f"{mail.attempts} of {mail.max_attempts}",
        "next try": when(mail.next_retry_at, now=mail.read_at),
        "possible duplicate": yes_no(mail.possible_duplicate),
        "message-id": mail.message_id,
        "size": f"{mail.size:,} bytes",
        "error": mail.error_head,
        "page": mail.admin_url,
    }
    lines = [f"mail {mail.id}"]
    lines += [f"  {name}: {' '.join(str(value).split())}" for name, value in facts.items() if value]
    recipients = [(each.address, each.state, each.text) for each in mail.recipients]
    lines += ["", *table_lines(RECIPIENTS, recipients)]
    lines += ["", *(f"{when(each.at, now=mail.read_at)}  {each.what}" for each in mail.timeline)]
    return lines
