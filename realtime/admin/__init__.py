"""The pages of realtime in the operator's console."""

from realtime.admin import event

__all__ = ["event"]
