"""What the engine raises. Each class owns its text; callers pass data."""

from __future__ import annotations


class EngineroomError(Exception):
    """Base of everything that the engine raises on purpose."""


class SettingError(EngineroomError):
    """A setting whose value is not allowed. Stops the start with exit code 2."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        self.name = name
        self.value = value
        self.allowed = allowed
        super().__init__(f"{name}={value!s} is not allowed: {allowed}.")


class MissingSettingError(EngineroomError):
    """A setting that this start needs and that has no value."""

    def __init__(self, name: str, hint: str) -> None:
        self.name = name
        super().__init__(f"{name} is not set: {hint}.")


class UnknownJobError(EngineroomError):
    """A job id that no installed app declares."""

    def __init__(self, job_id: str, known: list[str], nearest: str | None) -> None:
        self.job_id = job_id
        hint = f"did you mean {nearest}?" if nearest else f"declared: {', '.join(known) or 'none'}"
        super().__init__(f"No job is declared with the id {job_id!r}; {hint}")


class DuplicateJobError(EngineroomError):
    """Two declarations with one id."""

    def __init__(self, job_id: str, first: str, second: str) -> None:
        super().__init__(
            f"The job id {job_id!r} is declared twice, in {first} and in {second}: rename one."
        )


class PolicyError(EngineroomError):
    """A claim policy that contradicts itself or its table."""

    def __init__(self, queue: str, problem: str) -> None:
        super().__init__(f"The claim policy of {queue}: {problem}.")


class LostClaimError(EngineroomError):
    """The claim of a row was lost: another worker holds it, or it was changed."""

    def __init__(self, queue: str, row_id: int) -> None:
        self.queue = queue
        self.row_id = row_id
        super().__init__(f"The claim of {queue} row {row_id} is lost: another worker may hold it.")


class CadenceError(EngineroomError, ValueError):
    """A cron expression, a time zone or an interval that no schedule can keep."""

    _LONGEST_SHOWN = 80

    def __init__(self, subject: str, value: object, reason: str) -> None:
        self.subject = subject
        self.value = value
        self.reason = reason
        shown = repr(value)
        if len(shown) > self._LONGEST_SHOWN:
            shown = f"{shown[: self._LONGEST_SHOWN]}…"
        super().__init__(f"The {subject} {shown} is refused: {reason}.")


class SchedulerClosedError(EngineroomError):
    """A task given to a scheduler after its ``close()``."""

    def __init__(self, scheduler: str) -> None:
        super().__init__(f"The scheduler {scheduler} is closed: make a new one.")


class StoppedTaskError(EngineroomError):
    """A test that fires a task which the code under test has stopped."""

    def __init__(self, task: str) -> None:
        super().__init__(f"The task {task} is stopped, so its timer would not fire any more.")
