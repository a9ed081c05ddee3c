"""
From where a browser may connect: the site itself, and ``CSRF_TRUSTED_ORIGINS``.

Browsers let any page open a WebSocket to any site and send the cookies along, so the
server has to look. A request without an origin is not a browser's.
"""

from __future__ import annotations

from collections.abc import Mapping
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.utils.http import is_same_domain


def is_allowed(scope: Mapping[str, Any]) -> bool:
    """Say whether the host of a request is one of ours, and its origin one that may ask."""
    request = _request(scope)
    try:
        host = request.get_host()
    except DisallowedHost:
        return False
    origin = request.headers.get("Origin")
    return not origin or origin == f"{request.scheme}://{host}" or _is_trusted(origin)


def _is_trusted(origin: str) -> bool:
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return True
    asking = urlsplit(origin)
    trusted = [urlsplit(one) for one in settings.CSRF_TRUSTED_ORIGINS if "*" in one]
    return any(
        asking.scheme == one.scheme and is_same_domain(asking.netloc, one.netloc.lstrip("*"))
        for one in trusted
    )


def _request(scope: Mapping[str, Any]) -> ASGIRequest:
    """Read host, scheme and proxy headers as Django does, of a WebSocket too."""
    scheme = {"ws": "http", "wss": "https"}.get(scope["scheme"], scope["scheme"])
    plain = {**scope, "type": "http", "method": scope.get("method", "GET"), "scheme": scheme}
    return ASGIRequest(plain, BytesIO())
