"""Who acts: a user, or somebody at a terminal who is known by name only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser


class Actor(Protocol):
    """Whoever acts; every user of Django is one."""

    @property
    def pk(self) -> Any:
        """The key of a user; empty for one that is known by name only."""

    def get_username(self) -> str:
        """Return the name that the audit keeps; never empty."""


def as_user(actor: Actor) -> AbstractBaseUser:
    """Return the actor for functions that ask for a user: of one they read only these two."""
    return cast("AbstractBaseUser", actor)
