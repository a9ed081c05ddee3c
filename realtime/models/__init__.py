"""The tables of realtime."""

from realtime.models.bus import BusMessage
from realtime.models.outbox import OutboxEvent, OutboxStatus
from realtime.models.session import RealtimeSession

__all__ = ["BusMessage", "OutboxEvent", "OutboxStatus", "RealtimeSession"]
