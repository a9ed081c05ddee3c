"""What reads raise."""

from __future__ import annotations

from jobs.errors import EngineroomError


class SlowReadError(EngineroomError):
    """A read that the server stopped at its time limit."""

    def __init__(self, milliseconds: int) -> None:
        self.milliseconds = milliseconds
        super().__init__(
            f"This filter needs more than {milliseconds / 1000:g} s; narrow the time range."
        )
