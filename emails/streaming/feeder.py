"""Claims made on another thread, while the mail of the one before is streamed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from jobs.claims import Claim

MakeClaim = Callable[[], Claim | None]
Submit = Callable[[Callable[[], None]], None]


class Feeder:
    """One claim at a time. Used by one thread, which is told by `ring` that it was made."""

    def __init__(self, submit: Submit, ring: Callable[[], None]) -> None:
        self._submit = submit
        self._ring = ring
        self._future: Future[Claim | None] | None = None

    @property
    def is_busy(self) -> bool:
        """Whether a claim was asked for and not taken."""
        return self._future is not None

    @property
    def has_answer(self) -> bool:
        """Whether it can be taken without waiting."""
        return self._future is not None and self._future.done()

    def start(self, make: MakeClaim) -> None:
        """Have a claim made."""
        future: Future[Claim | None] = Future()
        self._future = future
        self._submit(lambda: self._make(make, future))

    def take(self) -> Claim | None:
        """Return what came of it, waiting for it. Raises what making it has raised."""
        future, self._future = self._future, None
        assert future is not None, "nothing was asked for"
        return future.result()

    def _make(self, make: MakeClaim, future: Future[Claim | None]) -> None:
        try:
            future.set_result(make())
        except BaseException as error:  # noqa: BLE001 (raised where it is taken)
            future.set_exception(error)
        self._ring()
