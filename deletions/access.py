"""The access half: nobody gets in as this user any more."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth import SESSION_KEY, get_user_model
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Model

from deletions.models import Half
from deletions.steps import Answer, Skipped, StepCall
from jobs.transactions import short_transaction
from jobs.workers.queue_pass import Waiting

SESSIONS_AT_ONCE = 1000
SESSION_ENGINES = (
    "django.contrib.sessions.backends.db",
    "django.contrib.sessions.backends.cached_db",
)
# Models with a foreign key ``user`` whose rows let that user in.
TOKEN_MODELS = (
    ("signin", "SigninLink"),
    ("mcp", "AccessToken"),
    ("authtoken", "Token"),
)


class Deactivate:
    """
    Deactivates the account and makes its password unusable.

    A changed password ends all sessions of Django's own kind at their next request, whatever
    the authentication backend thinks of inactive users.
    """

    name = "account"
    half = Half.ACCESS.value
    left_behind = "the account can still sign in"

    def run(self, call: StepCall) -> Answer:
        """Write both columns, where the user model has them."""
        user = call.user
        if user is None:
            call.say("the user is gone already")
            return None
        columns: dict[str, Any] = {}
        if _has_column(type(user), "is_active"):
            columns["is_active"] = False
        if isinstance(user, AbstractBaseUser) and user.has_usable_password():
            user.set_unusable_password()
            columns["password"] = user.password
        if columns:
            with short_transaction("default"):
                type(user)._base_manager.filter(pk=user.pk).update(**columns)
        return None


class RevokeSessions:
    """Deletes the user's sessions in the database, and tokens that stand for the user."""

    name = "sessions"
    half = Half.ACCESS.value
    left_behind = "sessions and tokens of the user are still there"

    def run(self, call: StepCall) -> Answer:
        """Delete tokens first: they are found at once."""
        tokens = sum(_delete_tokens(model, call) for model in _token_models())
        if settings.SESSION_ENGINE not in SESSION_ENGINES or not apps.is_installed(
            "django.contrib.sessions"
        ):
            call.say(f"{tokens} tokens revoked; sessions are not in the database")
            return None if tokens else Skipped(reason=call.detail)
        sessions = _delete_sessions(call)
        if sessions is None:
            return Waiting(seconds=1)
        call.say(f"{sessions} sessions and {tokens} tokens revoked")
        return None


def _token_models() -> list[type[Model]]:
    found = []
    for label, name in TOKEN_MODELS:
        try:
            model = apps.get_model(label, name)
        except LookupError:
            continue
        if _has_column(model, "user"):
            found.append(model)
    return found


def _delete_tokens(model: type[Model], call: StepCall) -> int:
    key = get_user_model()._meta.pk.to_python(call.user_id)
    with short_transaction("default"):
        return model._base_manager.filter(user=key).delete()[0]


def _delete_sessions(call: StepCall) -> int | None:
    """
    Delete the user's sessions; return how many, or None when asked to stop.

    Django's session rows do not say whose they are: all are read, in the order of their keys.
    """
    from django.contrib.sessions.models import Session

    # By the store, which has them in a cache too where there is one.
    store = import_module(settings.SESSION_ENGINE).SessionStore()
    deleted, last = 0, ""
    while not call.should_stop():
        rows = list(
            Session.objects.filter(session_key__gt=last).order_by("session_key")[:SESSIONS_AT_ONCE]
        )
        if not rows:
            return deleted
        last = rows[-1].session_key
        for row in rows:
            if row.get_decoded().get(SESSION_KEY) == call.user_id:
                store.delete(row.session_key)
                deleted += 1
    return None


def _has_column(model: type[Model], name: str) -> bool:
    try:
        return bool(model._meta.get_field(name).concrete)
    except FieldDoesNotExist:
        return False
