"""Which numbers this process has handed on: nothing is doubled."""

from __future__ import annotations

from collections import OrderedDict

# What comes between two looks at the bus at 20,000 messages a second.
MOST = 100_000


class Seen:
    """The last numbers, the oldest forgotten first."""

    def __init__(self, *, most: int = MOST) -> None:
        self._numbers: OrderedDict[int, None] = OrderedDict()
        self._most = most

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    def add(self, number: int) -> bool:
        """Note a number; return whether it is new."""
        if number in self._numbers:
            return False
        self._numbers[number] = None
        if len(self._numbers) > self._most:
            self._numbers.popitem(last=False)
        return True
