"""
The email queue.

Mail is written in the caller's transaction and delivered by the job ``emails.processor``,
at least once. The finished bytes are stored when the mail is queued, so that every retry
sends the identical message.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emails.erasure import erase_user_mail
    from emails.queue import enqueue
    from emails.suppression import record_bounce, suppress, unsuppress

__all__ = ["enqueue", "erase_user_mail", "record_bounce", "suppress", "unsuppress"]

_HOMES = {
    "enqueue": "emails.queue",
    "erase_user_mail": "emails.erasure",
    "record_bounce": "emails.suppression",
    "suppress": "emails.suppression",
    "unsuppress": "emails.suppression",
}


def __getattr__(name: str) -> Any:
    # The models behind them cannot be imported before the apps are ready.
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(name)
