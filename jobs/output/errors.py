"""What commands raise."""

from __future__ import annotations

from jobs.errors import EngineroomError


class UsageError(EngineroomError):
    """A command that was called in a way that it cannot follow; exit code 2."""


class UnknownUserError(UsageError):
    """A user name that nobody has."""

    def __init__(self, name: str, nearest: str | None) -> None:
        hint = f"did you mean {nearest}?" if nearest else "name a user of this site."
        super().__init__(f"--user={name}: there is no user of that name; {hint}")


class UnconfirmedError(UsageError):
    """A verb that asks first, where nobody can be asked."""

    def __init__(self, what: str) -> None:
        super().__init__(f"Nobody can be asked without a terminal: to {what}, add --yes.")


class EmptyWindowError(UsageError):
    """A time range that ends before it begins."""

    def __init__(self, since: object, until: object) -> None:
        super().__init__(f"--since={since} is not before --until={until}.")


class SeveralRunsError(EngineroomError):
    """A job of which several runs go on, so that its id does not say which one is meant."""

    def __init__(self, job_id: str, run_ids: list[int]) -> None:
        listed = ", ".join(str(run_id) for run_id in run_ids)
        super().__init__(f"Several runs of {job_id} go on or wait ({listed}): name one of them.")


class NothingRunsError(EngineroomError):
    """A job of which no run goes on."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"No run of {job_id} goes on or waits: nothing to cancel.")


class SlowStatementError(EngineroomError):
    """A statement that the server stopped, or that waited too long for a lock."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"The database was too slow, and nothing was changed: {detail}")


class MissingPermissionsError(EngineroomError):
    """Permissions that the models declare and the database does not have yet."""

    def __init__(self, names: list[str]) -> None:
        listed = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
        super().__init__(f"{len(names)} permissions are missing ({listed}): run manage.py migrate.")
