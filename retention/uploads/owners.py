"""Whose an upload is."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Model

from retention.uploads.errors import OwnerError

KEY_LENGTH = 200


def owner_key(owner: object) -> str:
    """
    Return the text by which an owner is known: ``auth.user:7`` for a saved object, or the text.

    Raises ``OwnerError`` for anything else.
    """
    is_saved = isinstance(owner, Model) and owner.pk is not None
    key = _object_key(type(owner), owner.pk) if is_saved else owner  # type: ignore[arg-type,attr-defined]
    if not isinstance(key, str) or not 0 < len(key) <= KEY_LENGTH or "\x00" in key:
        raise OwnerError(owner)
    return key


def user_key(user_id: object) -> str:
    """Return the text by which the user with this key is known, also when the row is gone."""
    return _object_key(get_user_model(), user_id)


def _object_key(model: type[Model], key: Any) -> str:
    # The concrete model: a proxy's rows are the same owners.
    concrete = model._meta.concrete_model or model
    return f"{concrete._meta.label_lower}:{key}"
