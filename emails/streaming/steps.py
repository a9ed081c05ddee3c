"""How far mails on their way have got, written down for all connections of a worker at once."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

from django.db import connection

from jobs import clock
from jobs.claims import Claim
from jobs.statements import Template, Variable, send_planned
from jobs.transactions import write_shortly

USING = "default"
STEPS, IDS, NOW = Variable("steps"), Variable("ids"), Variable("now")


class StepName(enum.Enum):
    """What a mail has come to."""

    BEGUN = "begun"  # its first command goes out next
    DOT = "dot"  # its final dot goes out next
    SENT = "sent"  # the server has taken it


@dataclass(kw_only=True, slots=True)
class Step:
    """One step of one mail; for one that is sent, with what its row is to say of it."""

    name: StepName
    claim: Claim
    row_id: int
    recipients: Sequence[Mapping[str, Any]] | None = None
    outcome: str | None = None
    code: int | None = None


def write_steps(steps: Sequence[Step]) -> set[int]:
    """Commit steps of different mails; return the ids of those that their claims still hold."""
    # In the order in which a heartbeat locks the same rows: neither waits for the other in turn.
    ordered = sorted(steps, key=attrgetter("row_id"))
    values = {
        STEPS: json.dumps([_as_row(step) for step in ordered]),
        IDS: f"{{{','.join(str(step.row_id) for step in ordered)}}}",
        NOW: clock.frozen_at(),
    }
    return send_planned(lambda text: write_shortly(USING, text), ADVANCE, values, connection)


def _as_row(step: Step) -> dict[str, Any]:
    row = {"id": step.row_id, "token": str(step.claim.token), "name": step.name.value}
    if step.name is StepName.SENT:
        row |= {"recipients": step.recipients, "outcome": step.outcome, "code": step.code}
    return row


def _read() -> Template:
    text = (Path(__file__).parents[1] / "sql" / "advance_mail.sql").read_text(encoding="utf-8")
    known = {f"{{{each.name}}}": each for each in (STEPS, IDS, NOW)}
    pieces = re.split("(" + "|".join(map(re.escape, known)) + ")", text.strip())
    return Template(
        pieces=tuple(pieces[::2]), variables=tuple(known[name] for name in pieces[1::2])
    )


ADVANCE = _read()
