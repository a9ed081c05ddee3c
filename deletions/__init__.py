"""
Deleting users, half by half, and knowing which half is done; and deleting buckets.

``request`` queues the deletion of a user; the job ``deletions.users`` carries it out. What
gives a user access goes first, then what is kept elsewhere, such as a subscription, then the
user's rows here, the user last. Each step is a row, so that a deletion that was given up
says what it leaves behind. ``delete_bucket`` queues the deletion of a bucket, which the job
``deletions.buckets`` carries out; see ``deletions.buckets``.

| term | meaning |
|---|---|
| half | ``access``, ``external`` or ``local``: which kind of work a step is |
| step | one piece of work of a half, done once and never again |
| blocking | of an external step: rows here are kept until it is done |
| waiting | a step that is not done and has not failed; it costs no attempt |
| abandoned | given up after so many attempts; only an operator starts it again |
| left behind | what is still there because a step is not done |
| proof | the row of a deletion that is done, without personal data |
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deletions.buckets.requests import delete_bucket
    from deletions.requests import cancel, request
    from deletions.steps import Skipped, StepCall

__all__ = ["Skipped", "StepCall", "cancel", "delete_bucket", "request"]

_HOMES = {
    "Skipped": "deletions.steps",
    "StepCall": "deletions.steps",
    "cancel": "deletions.requests",
    "delete_bucket": "deletions.buckets.requests",
    "request": "deletions.requests",
}


def __getattr__(name: str) -> Any:
    # The models behind them cannot be imported before the apps are ready.
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(name)
