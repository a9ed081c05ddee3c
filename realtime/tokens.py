"""Signed tokens: how a client that has no session cookie says who it is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.core import signing
from django.core.exceptions import ValidationError
from django.utils.crypto import constant_time_compare

from realtime.errors import TokenRefusedError

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

SALT = "realtime.tokens"
SECONDS = 3600
# Of the session hash that the token is bound to: enough to tell passwords apart, too short
# to be of use to who reads the token.
MARK_LENGTH = 12


def token(user: AbstractBaseUser, *, seconds: int = SECONDS) -> str:
    """
    Return a token for ``auth={"token": …}`` that signs the user in for so many seconds.

    It ends before when the user is deactivated, deleted, or has a new password. The keys
    are Django's (``SECRET_KEY``, ``SECRET_KEY_FALLBACKS``).
    """
    claims = {
        "user": str(user.pk),
        "until": int(time.time()) + seconds,
        "mark": _mark(user.get_session_auth_hash()),
    }
    return signing.dumps(claims, salt=SALT, compress=False)


def user_of(text: str) -> AbstractBaseUser:
    """Return the user that a token signs in. Raises TokenRefusedError."""
    try:
        claims = signing.loads(text, salt=SALT)
        key, until, mark = claims["user"], claims["until"], claims["mark"]
    except (signing.BadSignature, KeyError, TypeError, ValueError) as error:
        raise TokenRefusedError("is not one of ours") from error
    if time.time() >= until:
        raise TokenRefusedError("has expired")
    user: AbstractBaseUser | None = active_user(key)
    if user is None or not _is_marked(user, mark):
        raise TokenRefusedError("is of a user who may no longer sign in with it")
    return user


def active_user(key: str) -> Any:
    """Return the active user with this key as text; None when there is none."""
    model = get_user_model()
    try:
        found = model._default_manager.filter(pk=model._meta.pk.to_python(key)).first()
    except ValidationError:  # a key of another kind
        return None
    return found if found is not None and found.is_active else None


def _is_marked(user: AbstractBaseUser, mark: str) -> bool:
    hashes = [user.get_session_auth_hash(), *user.get_session_auth_fallback_hash()]
    return any(constant_time_compare(mark, _mark(one)) for one in hashes)


def _mark(session_hash: str) -> str:
    return session_hash[:MARK_LENGTH]
