"""Who a client is, and whether it still is: Django's session cookie, or a signed token."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest
from django.http.cookie import parse_cookie

from realtime import tokens
from realtime.errors import TokenRefusedError

MOST_TOKEN = 4096


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What a client has shown, and whose it is. Shown again, it is checked again."""

    user_key: str
    token: str = ""
    session_key: str = ""


def identify(*, cookie: str, auth: Any) -> Identity | None:
    """
    Return whom the token or else the session cookie signs in; None for nobody.

    A token that is refused is not made good by a cookie.
    """
    if auth is not None and auth != {}:
        token = auth.get("token") if isinstance(auth, dict) else None
        return _by_token(token) if isinstance(token, str) else None
    key = parse_cookie(cookie).get(settings.SESSION_COOKIE_NAME, "")
    user = _session_user(key) if key else None
    return Identity(user_key=str(user.pk), session_key=key) if user is not None else None


def user_of(identity: Identity) -> Any:
    """Return the user that this identity still signs in; None when it does no longer."""
    if identity.session_key:
        user = _session_user(identity.session_key)
    else:
        try:
            user = tokens.user_of(identity.token)
        except TokenRefusedError:
            user = None
    return user if user is not None and str(user.pk) == identity.user_key else None


def _by_token(token: str) -> Identity | None:
    if len(token) > MOST_TOKEN:
        return None
    try:
        user = tokens.user_of(token)
    except TokenRefusedError:
        return None
    return Identity(user_key=str(user.pk), token=token)


def _session_user(session_key: str) -> Any:
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = get_user(request)
    # A session of an unknown key is an empty one; nothing here may save it.
    return user if user.is_authenticated and user.is_active else None
