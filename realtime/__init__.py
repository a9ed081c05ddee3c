"""
Changes written to an outbox, delivered to exactly the clients who may see them.

They are written in the transaction that makes the change and delivered at least once, in
order per record, to Socket.IO clients whichever process holds their sockets.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from realtime.bulk import bulk_create, bulk_delete, bulk_update, changing
    from realtime.declarations import Sight, declare_model
    from realtime.publishing import publish
    from realtime.sight import capture
    from realtime.tokens import token
    from realtime.topics import declare_topic

    EVERYONE = Sight.EVERYONE
    NOBODY = Sight.NOBODY

__all__ = [
    "EVERYONE",
    "NOBODY",
    "bulk_create",
    "bulk_delete",
    "bulk_update",
    "capture",
    "changing",
    "declare_model",
    "declare_topic",
    "publish",
    "token",
]

_HOMES = {
    "EVERYONE": "realtime.declarations",
    "NOBODY": "realtime.declarations",
    "bulk_create": "realtime.bulk",
    "bulk_delete": "realtime.bulk",
    "bulk_update": "realtime.bulk",
    "capture": "realtime.sight",
    "changing": "realtime.bulk",
    "declare_model": "realtime.declarations",
    "declare_topic": "realtime.topics",
    "publish": "realtime.publishing",
    "token": "realtime.tokens",
}


def __getattr__(name: str) -> Any:
    # The models behind them cannot be imported before the apps are ready.
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(name)
