"""How far mails on their way have got, as the statement takes it that writes it down."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from typing import Any

from emails.statements import statement
from emails.streaming.ride import Ride
from jobs import clock
from jobs.statements import Template, Variable

STEPS, IDS, NOW = Variable("steps"), Variable("ids"), Variable("now")
Step = tuple[int, str]  # of one mail: its id, and the rest as JSON


class StepName(enum.StrEnum):
    """What a mail has come to."""

    BEGUN = "begun"  # its first command goes out next
    DOT = "dot"  # its final dot goes out next
    SENT = "sent"  # the server has taken it


def going(name: StepName, ride: Ride) -> Step:
    """Return a step of a mail that stays on its way."""
    return ride.row_id, f'{{{ride.fence},"name":"{name}"}}'


def sent(ride: Ride, recipients: str, *, outcome: str, code: int) -> Step:
    """Return the last step of a mail, with what its row is to say of it; recipients as JSON."""
    said = f'"recipients":{recipients},"outcome":"{outcome}","code":{code}'
    return ride.row_id, f'{{{ride.fence},"name":"{StepName.SENT}",{said}}}'


def values_of(steps: Iterable[Step]) -> dict[Variable, Any]:
    """Return what the statement is given for steps of different mails."""
    # In the order in which a heartbeat locks the same rows: neither waits for the other in turn.
    ordered = sorted(steps)
    return {
        STEPS: f"[{','.join(text for _, text in ordered)}]",
        IDS: f"{{{','.join(str(row_id) for row_id, _ in ordered)}}}",
        NOW: clock.frozen_at(),
    }


def _read() -> Template:
    text = statement("advance_mail").strip()
    known = {f"{{{each.name}}}": each for each in (STEPS, IDS, NOW)}
    pieces = re.split("(" + "|".join(map(re.escape, known)) + ")", text)
    return Template(
        pieces=tuple(pieces[::2]), variables=tuple(known[name] for name in pieces[1::2])
    )


ADVANCE = _read()
