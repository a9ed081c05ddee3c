"""The notifier's connection: opened at the first note, replaced when it has gone."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple, Self

from psycopg import sql

from jobs import direct

SEND_SECONDS = 10.0
# LOCAL: through a transaction-pooling proxy a plain SET would stay on a connection that
# others commit on, and cost them their durability.
_NOT_FLUSHED = sql.SQL("SET LOCAL synchronous_commit = off")


class Note(NamedTuple):
    """What one NOTIFY says. Only probes have a payload."""

    channel: str
    payload: str = ""


class Postman:
    """Sends notes; as a context manager it closes its connection at the end."""

    def __init__(self, *, using: str) -> None:
        self._using = using
        self._connection: direct.Connection | None = None
        self._posted: tuple[Note, ...] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def post(self, notes: tuple[Note, ...]) -> bool:
        """
        Put notes on their way, without waiting; return whether they are.

        Whether they arrive is for ``send`` of the same notes to make sure of, on any thread.
        """
        if self._connection is None:
            return False
        try:
            direct.begin(self._connection, _statements(notes))
        except Exception:  # noqa: BLE001 (send() meets it again, and says so)
            return False
        self._posted = notes
        return True

    def send(self, notes: tuple[Note, ...]) -> None:
        """Send notes in one round trip. Raises what psycopg raises, or DatabaseSilentError."""
        was_open = self._connection is not None
        try:
            self._send(notes)
        except direct.LOST:
            if not was_open:
                raise
            # It may have gone while idle, which says nothing of the database now.
            self._send(notes)

    def close(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, notes: tuple[Note, ...]) -> None:
        if self._connection is None:
            self._connection = direct.connect(
                application_name="engineroom-notify", using=self._using
            )
        is_posted, self._posted = self._posted == notes, ()
        try:
            if not is_posted:
                direct.begin(self._connection, _statements(notes))
            direct.finish(self._connection, limit_seconds=SEND_SECONDS)
        except BaseException:
            self.close()
            raise


@lru_cache(maxsize=64)
def _statements(notes: tuple[Note, ...]) -> bytes:
    return direct.compose(_NOT_FLUSHED, *(_notify(note) for note in notes))


def _notify(note: Note) -> sql.Composable:
    channel = sql.Identifier(note.channel)
    if not note.payload:
        return sql.SQL("NOTIFY {}").format(channel)
    return sql.SQL("NOTIFY {}, {}").format(channel, sql.Literal(note.payload))
