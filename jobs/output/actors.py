"""Who acts on the command line."""

from __future__ import annotations

import difflib
import getpass
import os
from dataclasses import dataclass

from django.contrib.auth import get_user_model

from jobs.output.errors import UnknownUserError
from jobs.verbs import Actor

# Enough to find a slip of the pen, bounded for a site with millions of users.
USERS_COMPARED = 10_000


@dataclass(frozen=True)
class CommandLineActor:
    """Somebody whom the operating system knows, and this site does not."""

    name: str
    pk: str = ""

    def get_username(self) -> str:
        return f"cli:{self.name}"


def command_actor(username: str | None) -> Actor:
    """
    Return the user of that name, or without one whoever called the command.

    Raises ``UnknownUserError``, which names the nearest.
    """
    if username is None:
        return CommandLineActor(login_name())
    users = get_user_model()
    field = users.USERNAME_FIELD
    user = users._default_manager.filter(**{field: username}).first()
    if user is None:
        names = users._default_manager.values_list(field, flat=True)[:USERS_COMPARED]
        nearest = difflib.get_close_matches(username, [str(name) for name in names], n=1)
        raise UnknownUserError(username, nearest[0] if nearest else None)
    return user


def login_name() -> str:
    """Return the operating system's name of who runs this process; never empty."""
    try:
        import pwd  # not there on Windows

        return pwd.getpwuid(os.getuid()).pw_name or str(os.getuid())
    except ImportError:
        return getpass.getuser()
    except KeyError:  # a container's user without an entry
        return str(os.getuid())
