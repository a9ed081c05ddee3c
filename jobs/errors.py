"""What the engine raises. Each class owns its text; callers pass data."""

from __future__ import annotations

from collections.abc import Iterable


class EngineroomError(Exception):
    """Base of everything that the engine raises on purpose."""


class PartlyFailedError(EngineroomError):
    """A run of which a part has failed; its summary is kept beside the error."""

    def __init__(self, message: str, output: object) -> None:
        self.output = output
        super().__init__(message)


class SettingError(EngineroomError):
    """A setting whose value is not allowed. Stops the start with exit code 2."""

    def __init__(self, name: str, value: object, allowed: str) -> None:
        self.name = name
        self.value = value
        self.allowed = allowed
        shown = " ".join(str(value).split())[:200]  # one line, whatever it holds
        super().__init__(f"{name}={shown} is not allowed: {allowed}.")


class MissingSettingError(EngineroomError):
    """A setting that this start needs and that has no value."""

    def __init__(self, name: str, hint: str) -> None:
        self.name = name
        super().__init__(f"{name} is not set: {hint}.")


class UnknownJobError(EngineroomError):
    """A job id that no installed app declares."""

    def __init__(self, job_id: str, known: list[str], nearest: str | None) -> None:
        self.job_id = job_id
        self.nearest = nearest
        hint = f"did you mean {nearest}?" if nearest else f"declared: {', '.join(known) or 'none'}"
        super().__init__(f"No job is declared with the id {job_id!r}; {hint}")


class DuplicateJobError(EngineroomError):
    """Two declarations with one id."""

    def __init__(self, job_id: str, first: str, second: str) -> None:
        super().__init__(
            f"The job id {job_id!r} is declared twice, in {first} and in {second}: rename one."
        )


class DuplicateTargetError(EngineroomError):
    """Two declarations of old rows with one name."""

    def __init__(self, name: str, table: str) -> None:
        super().__init__(
            f"The retention target {name!r} is declared twice, first for {table}: rename one."
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


class MissingPackageError(EngineroomError):
    """A package that is installed by an extra only."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs the package {package}: pip install '{extra}'.")


class UnappliedMigrationsError(EngineroomError):
    """The database is older than the code."""

    def __init__(self, names: list[str]) -> None:
        listed = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
        super().__init__(
            f"{len(names)} migrations are not applied ({listed}): run manage.py migrate."
        )


class PortInUseError(EngineroomError):
    """An address that cannot be listened on."""

    def __init__(self, setting: str, host: str, port: int, detail: str) -> None:
        super().__init__(
            f"{setting}={host}:{port} cannot be listened on ({detail}): "
            f"stop what uses it, or choose another port."
        )


class DatabaseSilentError(EngineroomError):
    """A database connection on which no answer came in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The database did not answer within {seconds:g} s.")


class ListenSilentError(EngineroomError):
    """A LISTEN connection that did not deliver what was sent to it."""

    def __init__(self, *, seconds: float, was_proved: bool, trouble: str | None) -> None:
        self.was_proved = was_proved
        self.trouble = trouble
        if trouble:
            hint = f"it could not be sent ({trouble})"
        elif was_proved:
            hint = "the connection has died unnoticed"
        else:
            hint = (
                "a pooler in transaction mode accepts LISTEN and delivers nothing; "
                "set DIRECT_DATABASE_URL to an unpooled URL"
            )
        super().__init__(f"No echo came back within {seconds:g} s: {hint}.")


class ListenPausedError(EngineroomError):
    """A process that stood still, so that what its LISTEN connection holds is old."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"The process stood still for {seconds:.0f} s.")


class ManualRunRefusedError(EngineroomError):
    """A job that its declaration does not let an operator force."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"{job_id} may not be run by hand: its declaration says manual_run=False.")


class UnlikeRowsError(EngineroomError, ValueError):
    """Rows to enqueue at once that do not all have the same names."""

    def __init__(self, place: int, row: Iterable[str], names: Iterable[str]) -> None:
        super().__init__(
            f"Row {place} has the names {', '.join(sorted(row))}; give every row those of the"
            f" first: {', '.join(sorted(names))}."
        )


class AlreadyRunningError(EngineroomError):
    """A singleton of which a run goes on, so that this one cannot begin."""

    def __init__(self, job_id: str, run_id: int, worker: str) -> None:
        super().__init__(
            f"Run {run_id} of {job_id} goes on ({worker}): wait for its end, or end it with"
            f" manage.py jobs cancel {run_id}."
        )
