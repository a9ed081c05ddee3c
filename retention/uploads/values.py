"""What an owner may have, and has."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Usage:
    """The reservations of an owner, kept ones included."""

    slots: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Quota:
    """The most that an owner may have."""

    slots: int
    bytes: int

    def fits(self, usage: Usage, *, size: int) -> bool:
        """Say whether one more of so many bytes is within it."""
        return usage.slots < self.slots and usage.bytes + size <= self.bytes
