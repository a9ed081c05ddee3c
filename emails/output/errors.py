"""What the commands of the email queue raise."""

# ruff: noqa: N818 -- a class is named for what is wrong, as ObjectDoesNotExist is

from __future__ import annotations

from emails.errors import RefusedMessage
from jobs.output.errors import UsageError


class NothingNamed(UsageError):
    """A verb without the mail that it is about, or with too much of it."""

    def __init__(self, verb: str, *, also: bool = False) -> None:
        if also:
            super().__init__("emails retry: name ids or say --all-dead, not both.")
            return
        hint = ", or say --all-dead" if verb == "retry" else ""
        super().__init__(f"emails {verb}: name the mail by its ids{hint}.")


class RefusedInput(UsageError):
    """An address or an option that the queue refuses."""

    def __init__(self, error: RefusedMessage) -> None:
        super().__init__(str(error))
