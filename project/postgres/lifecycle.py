"""Bringing the server of a checkout up and down; all of it under the mutex."""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from project.postgres import pidfile, sockets
from project.postgres.accounts import Account, account_for
from project.postgres.binaries import Binaries, Candidate, default_candidates, find_binaries
from project.postgres.cluster import create_data, existing_data
from project.postgres.logfile import keep_log_small
from project.postgres.passwords import Passwords, load_passwords, make_passwords
from project.postgres.places import Places
from project.postgres.provision import provision
from project.postgres.record import Record, load_record, save_record
from project.postgres.server import Server, start, stop

logger = logging.getLogger(__name__)


def ensure_running(places: Places, *, candidates: Sequence[Candidate] | None = None) -> int:
    """Adopt the server of this checkout, or start it; returns its process number.

    `candidates` are the directories to take the programs from, by default all that are
    known. Raises an EmbeddedPostgresError that says what is in the way.
    """
    record = load_record(places)
    data = existing_data(places, record=record)
    account = account_for(data)
    postmaster = pidfile.find_postmaster(data) if data else None
    if record and postmaster and _is_usable(postmaster.pid, record=record, places=places):
        if not record.wanted:
            save_record(replace(record, wanted=True), places=places)
        return postmaster.pid
    wanted = default_candidates() if candidates is None else candidates
    binaries = find_binaries(wanted, account=account, places=places, data=data)
    if postmaster:
        # Left in the middle of its start, or cut off from its socket.
        logger.warning("postgres_restarting pid=%s data=%s", postmaster.pid, data)
        stop(postmaster.pid)
    return _bring_up(places, data=data, account=account, binaries=binaries, record=record)


def stop_running(places: Places) -> bool:
    """Stop the server of this checkout if it runs; returns whether it did."""
    record = load_record(places)
    postmaster = pidfile.find_postmaster(Path(record.data)) if record else None
    if not record or not postmaster:
        return False
    stop(postmaster.pid)
    sockets.remove_directory(Path(record.sockets))
    logger.info("postgres_stopped pid=%s data=%s", postmaster.pid, record.data)
    return True


def _is_usable(pid: int, *, record: Record, places: Places) -> bool:
    is_complete = record.ready_pid == pid and load_passwords(places) is not None
    return is_complete and _accepts(sockets.socket_path(Path(record.sockets)))


def _accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(5.0)
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def _bring_up(
    places: Places,
    *,
    data: Path | None,
    account: Account,
    binaries: Binaries,
    record: Record | None,
) -> int:
    passwords = load_passwords(places)
    if data is None:
        passwords = passwords or make_passwords(places)
        data = create_data(places, account=account, binaries=binaries, passwords=passwords)
    recorded = Path(record.sockets) if record else None
    directory = sockets.prepare_directory(places, account=account, recorded=recorded)
    server = Server(places=places, data=data, sockets=directory, binaries=binaries, account=account)
    return _start_recorded(server, passwords=passwords)


def _start_recorded(server: Server, *, passwords: Passwords | None) -> int:
    keep_log_small(server.places)
    _record(server, ready_pid=0)
    passwords = passwords or _replace_passwords(server)
    pid = _start_provisioned(server, passwords=passwords)
    _record(server, ready_pid=pid)
    logger.info("postgres_started pid=%s data=%s", pid, server.data)
    return pid


def _replace_passwords(server: Server) -> Passwords:
    # The file was lost, the data is not: let in for one moment whoever can enter the private
    # directory of the socket, which is nobody but the server's user and root.
    logger.warning("postgres_passwords_replaced data=%s", server.data)
    passwords = make_passwords(server.places)
    rules = server.sockets / "pg_hba.conf"
    rules.write_text("local all all trust\n", encoding="ascii")
    rules.chmod(0o644)
    try:
        stop(_start_provisioned(server, f"hba_file={rules}", passwords=passwords))
    finally:
        rules.unlink()
    return passwords


def _start_provisioned(server: Server, *options: str, passwords: Passwords) -> int:
    pid = start(server, *options)
    try:
        provision(server, passwords=passwords)
    except BaseException:
        stop(pid)
        raise
    return pid


def _record(server: Server, *, ready_pid: int) -> None:
    record = Record(
        var=str(server.places.var),
        data=str(server.data),
        sockets=str(server.sockets),
        binaries=str(server.binaries.directory),
        source=server.binaries.source,
        version=server.binaries.version,
        user=server.account.name,
        ready_pid=ready_pid,
        wanted=True,
    )
    save_record(record, places=server.places)
