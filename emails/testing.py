"""
For the tests of a project that queues mail.

Django's ``mail.outbox`` stays empty under the queue backend; what was queued is looked for
here. Use the backend in such tests, since Django's test runner puts another in its place.
"""

from __future__ import annotations

from collections.abc import Iterable

from emails.addresses import normalise, suppression_key
from emails.models import EmailJob

MOST_LISTED = 20


def assert_mail_queued(
    *,
    to: str | Iterable[str] | None = None,
    subject: str | None = None,
    kind: str | None = None,
    count: int | None = None,
) -> list[EmailJob]:
    """
    Assert that mail was queued, and return its rows, oldest first.

    ``to`` is one address or several, in any spelling, all of which must be recipients
    (To, Cc or Bcc); ``subject`` a text that the subject contains; ``kind`` the exact label.
    ``count`` is how many such mails there must be; without it, at least one. The failure
    lists what is queued.
    """
    wanted = {normalise(address) for address in ([to] if isinstance(to, str) else to or ())}
    rows = list(EmailJob.objects.order_by("pk"))
    found = [row for row in rows if _fits(row, wanted, subject, kind)]
    fits = bool(found) if count is None else len(found) == count
    assert fits, _failure(rows, found, to=to, subject=subject, kind=kind, count=count)
    return found


def _fits(row: EmailJob, wanted: set[str], subject: str | None, kind: str | None) -> bool:
    addresses = {suppression_key(item["address"]) for item in row.recipients}
    return (
        wanted <= addresses
        and (subject is None or subject in row.subject)
        and (kind is None or kind == row.kind)
    )


def _failure(
    rows: list[EmailJob], found: list[EmailJob], *, count: int | None, **asked: object
) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in asked.items() if value is not None)
    times = "at least one mail" if count is None else f"{count} mail{'' if count == 1 else 's'}"
    lines = [f"{times} with {given or 'anything'} should be queued, found {len(found)}."]
    lines.append("Queued are:" if rows else "Nothing is queued.")
    lines += [f"  {_line(row)}" for row in rows[:MOST_LISTED]]
    if len(rows) > MOST_LISTED:
        lines.append(f"  and {len(rows) - MOST_LISTED} more")
    return "\n".join(lines)


def _line(row: EmailJob) -> str:
    to = ", ".join(item["address"] for item in row.recipients)
    kind = f" kind={row.kind!r}" if row.kind else ""
    return f"{row.pk}: {row.status} to {to} subject={row.subject!r}{kind}"
