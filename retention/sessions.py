"""
Sessions and other rows whose time is over, once an hour.

It claims nothing: two that delete the same expired row do no harm.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db.models import Model

from jobs.failure import headline
from jobs.pruning import ExpiredRows, expired

NAME = "sessions"


def all_expired() -> list[ExpiredRows]:
    """Return what goes when its time is over: sessions in the database, and what apps declare."""
    model = _session_model()
    if model is None:
        return list(expired)
    # By batches like every target: Django's own ``clearsessions`` is one DELETE.
    sessions = ExpiredRows(name=NAME, label="Sessions", model=model, age_column="expire_date")
    return [sessions, *expired]


def clear_elsewhere() -> dict[str, Any] | None:
    """Let sessions outside the database clear themselves; return the entry, None without any."""
    store = _store()
    if issubclass(store, DatabaseStore):
        return None
    entry: dict[str, Any] = {"deleted": 0, "batches": 0, "truncated": False}
    try:
        store.clear_expired()
    except NotImplementedError:
        return {**entry, "note": f"{settings.SESSION_ENGINE} cannot be cleared"}
    except Exception as error:  # noqa: BLE001 (the other rows are swept all the same)
        return {**entry, "error": headline(error)}
    return {**entry, "note": f"cleared by {settings.SESSION_ENGINE}, which does not count"}


def _session_model() -> type[Model] | None:
    store = _store()
    if not issubclass(store, DatabaseStore):
        return None
    try:
        model: type[Model] = store.get_model_class()
    except RuntimeError:  # the app of that engine is not installed: a site without sessions
        return None
    return model


def _store() -> Any:
    return import_module(settings.SESSION_ENGINE).SessionStore
