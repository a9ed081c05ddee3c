"""
Uploads that are announced first: a place and a share of the owner's quota, for a time.

``reserve`` gives an address to which the bytes go, past this site where the store has signed
addresses of its own; ``finalize`` keeps the object. What is not finalised in time is released by
the job ``retention.uploads``, so that it does not hold its share for ever.

| term | meaning |
|---|---|
| reservation | a row of ``upload_reservations``: who may upload what until when |
| staged | of an object: uploaded, and not yet kept |
| finalise | to look at the staged object and to move it to where it is kept |
| release | to abort the upload, remove the object, and give the share of the quota back |
| discard | to release what was kept |
| quota | how many reservations and bytes an owner may have, kept ones included |
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from retention.uploads.values import Quota, Usage

if TYPE_CHECKING:
    from retention.uploads.finalizing import finalize
    from retention.uploads.quotas import usage_of
    from retention.uploads.releasing import abort, discard
    from retention.uploads.reserving import Reserved, reserve

__all__ = [
    "Quota",
    "Reserved",
    "Usage",
    "abort",
    "discard",
    "finalize",
    "reserve",
    "usage_of",
]

_HOMES = {
    "Reserved": "retention.uploads.reserving",
    "abort": "retention.uploads.releasing",
    "discard": "retention.uploads.releasing",
    "finalize": "retention.uploads.finalizing",
    "reserve": "retention.uploads.reserving",
    "usage_of": "retention.uploads.quotas",
}


def __getattr__(name: str) -> Any:
    # The models behind them cannot be imported before the apps are ready.
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(name)
