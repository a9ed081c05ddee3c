"""Using a signed upload as a browser does."""

from __future__ import annotations

import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Protocol


class Signed(Protocol):
    """A request that is signed already."""

    @property
    def url(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]: ...


def put(signed: Signed, content: bytes, *, url: str | None = None) -> int:
    """Send the content, to another address if given; return the status."""
    request = urllib.request.Request(
        url or signed.url, data=content, method=signed.method, headers=dict(signed.headers)
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code
