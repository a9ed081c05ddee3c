"""A verb: a function that knows its name and who may call it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Generic, ParamSpec, TypeVar

P = ParamSpec("P")
Answer = TypeVar("Answer")


class Verb(Generic[P, Answer]):
    """Calls its function. The permission is for the caller to check: a command has no user."""

    def __init__(self, act: Callable[P, Answer], *, name: str, permission: str) -> None:
        self._act = act
        self.name = name  # in the audit
        self.permission = permission  # "jobs.run_job"
        functools.update_wrapper(self, act)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return self._act(*args, **kwargs)


def verb(name: str, *, permission: str) -> Callable[[Callable[P, Answer]], Verb[P, Answer]]:
    """Make the decorated function a verb."""

    def make(act: Callable[P, Answer]) -> Verb[P, Answer]:
        return Verb(act, name=name, permission=permission)

    return make
