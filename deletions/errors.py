"""What the package ``deletions`` raises. Constructors take data, the classes own the text."""

from __future__ import annotations

from pathlib import Path

from jobs.errors import EngineroomError


class UnsavedUserError(EngineroomError, ValueError):
    """A user without a key, who is in no table yet."""

    def __init__(self) -> None:
        super().__init__("The user has no key: only a saved user can be deleted.")


class NaiveInstantError(EngineroomError, ValueError):
    """A ``not_before`` that does not say in which zone it is."""

    def __init__(self, value: object) -> None:
        super().__init__(f"not_before={value} has no time zone: give an aware instant.")


class UnsettledRequestError(EngineroomError):
    """A request that met another one each time, of which nothing was to be seen afterwards."""

    def __init__(self, key: object) -> None:
        super().__init__(
            f"The deletion of user {key} meets another one that this transaction does not see: "
            "ask again in a transaction of its own."
        )


class SnapshotError(EngineroomError, ValueError):
    """What USER_DELETION_SNAPSHOT returned cannot be kept in the row."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"USER_DELETION_SNAPSHOT={path} must return a dict of JSON: {problem}.")


class UnknownDeletionError(EngineroomError):
    """An id that no deletion has, or a user without one."""

    def __init__(self, what: str, abandoned: list[int]) -> None:
        listed = ", ".join(map(str, abandoned))
        hint = f"abandoned are {listed}" if abandoned else "none is abandoned"
        super().__init__(f"There is no deletion of {what}; {hint}.")


class StepImportError(EngineroomError):
    """A dotted path that leads to no step."""

    def __init__(self, path: str, problem: str) -> None:
        self.path = path
        super().__init__(f"USER_DELETION_STEPS: {path} is no step: {problem}.")


class StepError(EngineroomError):
    """A step that could not be done, for a reason that needs no traceback."""


class MissingStepError(StepError):
    """A step of an earlier version of the settings, still to be done."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"No step of USER_DELETION_STEPS is named {name!r}, and it is not done: keep the step "
            "in the setting until every open deletion is done."
        )


class WaitedTooLongError(StepError):
    """A step that waits beyond the limit."""

    def __init__(self, days: int, detail: str) -> None:
        super().__init__(f"Not done after waiting for {days} days: {detail or 'no reason given'}")


class StepAnswerError(StepError):
    """A step that returned something that says nothing."""

    def __init__(self, name: str, answer: object) -> None:
        super().__init__(
            f"The step {name} returned {answer!r}: return None (done), Waiting or Skipped."
        )


class BillingRefusedError(StepError):
    """The billing service did not cancel."""

    def __init__(self, status: int, answer: str) -> None:
        said = f": {answer}" if answer else ""
        super().__init__(f"The billing service answered {status}{said}")


class BillingSecretError(StepError):
    """A billing URL without the secret that its requests are signed with."""

    def __init__(self) -> None:
        super().__init__("BILLING_URL is set and BILLING_SECRET is not: set both.")


class UnreachableError(StepError):
    """A service that gave no answer."""

    def __init__(self, url: str, problem: str) -> None:
        super().__init__(f"No answer from {url}: {problem}")


class BlockedByKeyError(StepError):
    """Rows that refer to what is to be deleted, and may not be deleted with it."""

    def __init__(self, *, table: str, constraint: str, target: str) -> None:
        self.table, self.constraint = table, constraint
        super().__init__(
            f"Rows of {table} refer to {target} by the key {constraint}, which does not let them "
            "go: delete or change those rows, or the key, and requeue the deletion."
        )


class ProofError(StepError):
    """The file of finished deletions cannot be written."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(
            f"All is deleted, and that could not be written to {path}: {problem}. "
            "A restored backup would not know of it."
        )


class ProofFileError(EngineroomError):
    """The file of finished deletions cannot be read."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path} cannot be read: {problem}. Name another with --from FILE.")
