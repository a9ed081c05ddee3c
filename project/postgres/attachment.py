"""Using the server: from `attach` to `detach`, or to the end of the process."""

from __future__ import annotations

import atexit
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from project.postgres import sockets
from project.postgres.address import ServerAddress
from project.postgres.binaries import Candidate
from project.postgres.errors import VarNotWritableError
from project.postgres.lifecycle import ensure_running, stop_running
from project.postgres.locks import exclusively, is_shared, release, share
from project.postgres.places import Places, make_var, places_of
from project.postgres.record import load_record
from project.postgres.supervisor import Supervisor

logger = logging.getLogger(__name__)


class Attachment:
    """One use of the server; a context manager that detaches at its end.

    A forked child shares the use of its parent: its own `detach` does nothing, and as long
    as it lives the server is not stopped for want of users if the parent was killed.
    """

    def __init__(
        self, places: Places, *, pid: int, lock: int, candidates: Sequence[Candidate] | None
    ) -> None:
        """Begin to look after the server with the number `pid`."""
        self.places = places
        self._lock: int | None = lock
        self._process = os.getpid()
        self._supervisor = Supervisor(places, pid=pid, candidates=candidates)
        self._supervisor.start()
        atexit.register(self.detach)

    @property
    def address(self) -> ServerAddress:
        """How to reach the server."""
        return address_of(self.places)

    def detach(self) -> None:
        """End the use; the last one to do so stops the server and waits for its end."""
        if self._lock is None or self._process != os.getpid():
            return
        self._supervisor.stop()
        lock, self._lock = self._lock, None
        try:
            with exclusively(self.places.mutex):
                release(lock)
                if not is_shared(self.places.users):
                    stop_running(self.places)
        except VarNotWritableError:
            # `var` was removed meanwhile; the server ends by itself once it misses its files.
            logger.warning("postgres_left var=%s", self.places.var)
        atexit.unregister(self.detach)

    def __enter__(self) -> Self:
        """Return the attachment itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Detach, whatever happened."""
        self.detach()


def attach(var: Path, *, candidates: Sequence[Candidate] | None = None) -> Attachment:
    """Make sure that the server of `var` runs and return the use of it.

    Any number of processes may call it at once. `candidates` are the directories to take
    the programs from, by default all that are known. Raises EmbeddedPostgresError.
    """
    return attach_at(places_of(var), candidates=candidates)


def attach_at(places: Places, *, candidates: Sequence[Candidate] | None = None) -> Attachment:
    """Do the same for places that are known."""
    make_var(places)
    with exclusively(places.mutex):
        lock = share(places.users)
        try:
            pid = ensure_running(places, candidates=candidates)
        except BaseException:
            release(lock)
            raise
    return Attachment(places, pid=pid, lock=lock, candidates=candidates)


def connection_parameters(var: Path) -> ServerAddress:
    """Return how to reach the server of `var`; starts and writes nothing.

    Before the first `attach` it is the address that the server is going to have, unless
    another user has taken the place of its socket.
    """
    return address_of(places_of(var))


def programs_directory(var: Path) -> Path | None:
    """Return where the server's own psql, pg_dump and pg_restore are; None before it ran."""
    record = load_record(places_of(var))
    return Path(record.binaries) if record else None


def address_of(places: Places) -> ServerAddress:
    """Return the recorded address, or the expected one."""
    record = load_record(places)
    directory = Path(record.sockets) if record else sockets.expected_directory(places)
    return ServerAddress(host=str(directory), passfile=str(places.passfile))
