"""The pages of realtime in the operator's console."""

from realtime.admin import event, session

__all__ = ["event", "session"]
