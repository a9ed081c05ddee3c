"""
One POST to an address of the operator's own, which is trusted.

All of it has a time limit, the look-up of the name and a slow answer included: urllib's own
is of each step. A redirect is followed nowhere, since it would turn the POST into a GET.
"""

from __future__ import annotations

import http.client
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from deletions.errors import UnreachableError
from jobs.failure import headline
from jobs.redaction import mask_secrets

STEP_SECONDS = 10.0
TOTAL_SECONDS = 20.0
ANSWER_BYTES = 65_536


@dataclass(frozen=True, kw_only=True)
class Posted:
    """What a service answered, whatever the status is."""

    status: int
    text: str  # its first 64 KB


def post(
    url: str, body: bytes, headers: Mapping[str, str], *, seconds: float = TOTAL_SECONDS
) -> Posted:
    """Send one request. Raises ``UnreachableError`` when no answer came within the limit."""
    request = urllib.request.Request(  # noqa: S310 (http or https, checked with the setting)
        url, data=body, headers=dict(headers), method="POST"
    )
    posting = _Posting(request, step_seconds=min(STEP_SECONDS, seconds))
    posting.start()
    posting.join(seconds)
    shown = mask_secrets(url)
    if posting.is_alive():
        raise UnreachableError(shown, f"nothing complete within {seconds:g} s")
    if posting.posted is None:
        raise UnreachableError(shown, headline(posting.error or RuntimeError()))
    return posting.posted


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **options: Any) -> None:
        """Follow nowhere."""


class _Posting(threading.Thread):
    """On a daemon thread, so that it can be left behind."""

    def __init__(self, request: urllib.request.Request, *, step_seconds: float) -> None:
        super().__init__(name="engineroom-billing", daemon=True)
        self.posted: Posted | None = None
        self.error: Exception | None = None
        self._request = request
        self._seconds = step_seconds

    def run(self) -> None:
        opener = urllib.request.build_opener(_NoRedirect)
        try:
            with opener.open(self._request, timeout=self._seconds) as answer:
                self.posted = _read(answer.status, answer)
        except urllib.error.HTTPError as error:
            with error:
                self.posted = _read(error.code, error)
        except Exception as error:  # noqa: BLE001 (told by the caller's thread)
            self.error = error


def _read(status: int, answer: Any) -> Posted:
    try:
        text = answer.read(ANSWER_BYTES)
    except (OSError, http.client.HTTPException):
        text = b""  # the status has come, and it is what counts
    return Posted(status=status, text=text.decode("utf-8", "replace"))
