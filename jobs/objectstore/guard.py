"""
A last look before each request to a store.

What is deleted cannot be taken back, and a batch may be a thousand requests. So work under a
lease has its lease looked at before each of them, and not only before the batch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

_check: ContextVar[Callable[[], object] | None] = ContextVar("objectstore_check", default=None)


@contextlib.contextmanager
def guarded(check: Callable[[], object]) -> Iterator[None]:
    """Call ``check`` before each request of this thread; what it raises ends the work."""
    token = _check.set(check)
    try:
        yield
    finally:
        _check.reset(token)


def check_request(**_of_the_request: object) -> None:
    """Let the guard look, if there is one. Called by stores before they ask or change anything."""
    check = _check.get()
    if check is not None:
        check()
