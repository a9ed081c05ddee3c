"""What was sent to the processes that hold the clients' sockets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.db import models
from django.db.models import Func

from jobs.clock import ClockDefault

if TYPE_CHECKING:
    IntField = models.Field[int, int]
    TextLikeField = models.Field[str, str]
else:
    IntField = TextLikeField = models.Field


class TransactionId(IntField):
    """A transaction's id that never wraps round (``xid8``), an int in Python."""

    def db_type(self, connection: Any) -> str:
        return "xid8"

    def from_db_value(self, value: Any, *_context: Any) -> int | None:
        return None if value is None else int(value)

    def get_prep_value(self, value: Any) -> Any:
        # psycopg sends an int as bigint, which does not compare with xid8.
        return None if value is None else str(value)


class Snapshot(TextLikeField):
    """Which transactions had ended (``pg_snapshot``), as PostgreSQL writes it."""

    def db_type(self, connection: Any) -> str:
        return "pg_snapshot"


class CurrentTransaction(Func):
    """The id of the transaction that inserts the row."""

    template = "pg_current_xact_id()"
    output_field = TransactionId()


class CurrentSnapshot(Func):
    """What the statement that inserts the row sees of others."""

    template = "pg_current_snapshot()"
    output_field = Snapshot()


class BusMessage(models.Model):
    """One message, numbered by its id; kept for some minutes for those who were away."""

    id = models.BigAutoField("number", primary_key=True)
    # Numbers are handed out before the commit, so a lower one may appear later: who was
    # away goes on by the transaction instead.
    txid = TransactionId(db_default=CurrentTransaction(), editable=False)
    snapshot = Snapshot(db_default=CurrentSnapshot(), editable=False)
    created_at = models.DateTimeField(db_default=ClockDefault(), editable=False)
    sender = models.CharField(max_length=200)
    topic = models.CharField(max_length=200)
    message = models.TextField()  # as ``realtime.bus`` encodes it

    class Meta:
        db_table = "realtime_bus"
        verbose_name = "bus message"
        ordering = ("-id",)
        indexes = (
            models.Index(fields=("txid", "id"), name="realtime_bus_by_transaction"),
            models.Index(fields=("topic", "id"), name="realtime_bus_by_topic"),
            models.Index(fields=("created_at",), name="realtime_bus_by_age"),
        )

    def __str__(self) -> str:
        return f"bus message {self.pk}"
