"""What verbs raise."""

from __future__ import annotations

from jobs.errors import EngineroomError


class UnknownRunError(EngineroomError):
    """A run id that the ledger does not have."""

    def __init__(self, run_id: int) -> None:
        self.run_id = run_id
        super().__init__(f"There is no run {run_id}: see manage.py jobs runs.")


class RunEndedError(EngineroomError):
    """A run that has ended, so that there is nothing to cancel."""

    def __init__(self, run_id: int, job_id: str, status: str) -> None:
        self.run_id = run_id
        self.status = status
        super().__init__(f"Run {run_id} of {job_id} has ended ({status}): nothing to cancel.")


class QueuePassError(EngineroomError):
    """A pass of a queue worker, which ends by itself and comes again."""

    def __init__(self, run_id: int, job_id: str) -> None:
        self.run_id = run_id
        super().__init__(
            f"Run {run_id} is a pass of the queue of {job_id}, which would come again: "
            f"pause the job instead."
        )


class FixedCadenceError(EngineroomError):
    """A job whose cadence is in code, or is kept by the page that owns its configuration."""

    def __init__(self, job_id: str) -> None:
        super().__init__(f"When {job_id} runs is not set here: see where it is declared.")
