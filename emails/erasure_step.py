"""
A step for the deletion of users that erases their mail.

It has the form that ``USER_DELETION_STEPS`` asks for and needs nothing of the app that runs
it: name, half, words, and ``run`` with what is known of the user.
"""

from __future__ import annotations

from typing import Any

from emails.addresses import normalise
from emails.erasure import erase_user_mail
from emails.errors import RefusedMessage
from jobs.workers.queue_pass import Waiting

# Mail that a worker holds is sent within this time, or is free again.
WAIT_SECONDS = 60.0


class EraseMail:
    """Cancels a user's queued mail and blanks all mail to the user, by id and by address."""

    name = "mail"
    half = "local"
    left_behind = "queued mail to the user is still sent, and sent mail keeps the address"

    def run(self, call: Any) -> Waiting | None:
        """Erase; wait for mail that is being sent at the moment."""
        erased = erase_user_mail(call.user_id, _addresses(call.user))
        if erased.in_progress:
            call.say(f"{erased.in_progress} mails to the user are being sent right now")
            return Waiting(seconds=WAIT_SECONDS)
        call.say(f"{erased.blanked} mails erased")
        return None


def _addresses(user: Any) -> list[str]:
    """Return the user's address, unless no mail can have gone to it."""
    if user is None:
        return []
    name = getattr(user, "get_email_field_name", lambda: "email")()
    address = str(getattr(user, name, "") or "")
    try:
        normalise(address)
    except RefusedMessage:
        return []
    return [address]
