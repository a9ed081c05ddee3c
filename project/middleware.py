"""What every answer of this site carries."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase

POLICY = "default-src 'self'; frame-ancestors 'self'; form-action 'self'; base-uri 'self'"


class ContentSecurityPolicy:
    """Set the policy where a view has not set a stricter one of its own."""

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        response.headers.setdefault("Content-Security-Policy", POLICY)
        return response
