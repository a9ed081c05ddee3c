"""
Changes written to an outbox, delivered to exactly the clients who may see them.

They are written in the transaction that makes the change and delivered at least once, in
order per record, to Socket.IO clients whichever process holds their sockets.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from realtime.tokens import token
    from realtime.topics import declare_topic

__all__ = ["declare_topic", "token"]

_HOMES = {
    "declare_topic": "realtime.topics",
    "token": "realtime.tokens",
}


def __getattr__(name: str) -> Any:
    # The models behind them cannot be imported before the apps are ready.
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(name)
