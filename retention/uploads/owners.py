"""Whose an upload is."""

from __future__ import annotations

from django.db.models import Model

from retention.uploads.errors import OwnerError

KEY_LENGTH = 200


def owner_key(owner: object) -> str:
    """
    Return the text by which an owner is known: the key of a saved object, or the text given.

    Raises ``OwnerError`` for anything else.
    """
    key = str(owner.pk) if isinstance(owner, Model) and owner.pk is not None else owner
    if isinstance(key, int) and not isinstance(key, bool):
        key = str(key)
    if not isinstance(key, str) or not 0 < len(key) <= KEY_LENGTH or "\x00" in key:
        raise OwnerError(owner)
    return key
