"""Where rows of one age lie that are too many for a batch."""

from __future__ import annotations

from jobs.transactions import TimeLimits, run_shortly
from retention.statements import DueRows

# One look lasts for so many batches, and holds no more places than a few megabytes do.
BATCHES, MOST = 50, 100_000


class Crowd:
    """
    The due rows of one age, by their places, as they were when somebody looked.

    Those that were skipped, and those that came later, are among the next ones it finds.
    """

    def __init__(self, due: DueRows, *, age: str) -> None:
        self.age = age
        self._due = due
        self._places: list[str] = []

    @property
    def is_used_up(self) -> bool:
        """Whether the batches had all places that were found."""
        return not self._places

    def find(self, *, limit: int, limits: TimeLimits) -> None:
        """Look where they lie, for batches of ``limit`` rows."""
        query = self._due.crowd(limit=min(BATCHES * limit, MOST), age=self.age)
        if query is not None:
            [[(places,)]] = run_shortly(self._due.using, query, limits=limits)
            self._places = places.split()

    def deletion(self, count: int) -> str | None:
        """Return the statement that deletes those at the next ``count`` places."""
        places = " ".join(self._places[:count])
        return self._due.at_places(places, limit=count) if places else None

    def leave(self, count: int) -> None:
        """Go on behind the next ``count`` places."""
        self._places = self._places[count:]
