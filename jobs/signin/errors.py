"""What sign-in links raise. Each class owns its text; callers pass data."""

from __future__ import annotations

from jobs.errors import EngineroomError


class NoConsoleUserError(EngineroomError):
    """A user who could do nothing with a link into the console."""

    def __init__(self, username: str, problem: str, hint: str) -> None:
        self.username = username
        super().__init__(f"No link for the user {username!r}: {problem}; {hint}")
