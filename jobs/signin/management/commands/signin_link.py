"""Print a one-time link into the console."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandError, CommandParser

from jobs import conf
from jobs.signin.errors import NoConsoleUserError
from jobs.signin.links import create_link

if TYPE_CHECKING:
    from django.contrib.auth.models import User

# Enough to find a slip of the pen, bounded for a site with millions of users.
USERS_COMPARED = 10_000


class Command(BaseCommand):
    help = "Prints a link that signs USER in to the console, once, within 15 minutes."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER", help="user name of a staff member")

    def handle(self, *, user: str, **options: Any) -> None:
        del options
        try:
            _, path = create_link(find_staff(user))
        except NoConsoleUserError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{site_url()}{path}")


def find_staff(username: str) -> User:
    """Return an active staff user; raise ``NoConsoleUserError`` otherwise."""
    model = get_user_model()
    user = model._default_manager.filter(**{model.USERNAME_FIELD: username}).first()
    if user is None:
        raise NoConsoleUserError(username, "there is none of that name", _suggestion(username))
    if not user.is_active:
        raise NoConsoleUserError(username, "the account is inactive", "activate it first")
    if not getattr(user, "is_staff", False):
        hint = "set its staff status first"
        raise NoConsoleUserError(username, "the account may not enter the console", hint)
    return user


def site_url() -> str:
    """Return where people reach this site, without a slash at the end."""
    return (conf.PUBLIC_URL.get() or f"http://{conf.WEB.get()}").rstrip("/")


def _suggestion(username: str) -> str:
    model = get_user_model()
    names = model._default_manager.values_list(model.USERNAME_FIELD, flat=True)[:USERS_COMPARED]
    nearest = difflib.get_close_matches(username, [str(name) for name in names], n=1)
    if nearest:
        return f"did you mean {nearest[0]}?"
    return "make one with manage.py createsuperuser"
