"""
The email queue.

Mail is written in the caller's transaction and delivered by the job ``emails.processor``,
at least once. The finished bytes are stored when the mail is queued, so that every retry
sends the identical message.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emails.queue import enqueue

__all__ = ["enqueue"]


def __getattr__(name: str) -> Any:
    # The models behind it cannot be imported before the apps are ready.
    if name == "enqueue":
        from emails.queue import enqueue

        return enqueue
    raise AttributeError(name)
