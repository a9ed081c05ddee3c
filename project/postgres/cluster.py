"""The data directory: where it is, and making a new one in one step."""

from __future__ import annotations

import logging
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from project.postgres.accounts import Account, can_use
from project.postgres.binaries import Binaries
from project.postgres.errors import ForeignDirectoryError, InitdbError, PathTooLongError
from project.postgres.passwords import SUPERUSER, Passwords
from project.postgres.places import Places, make_open, writing
from project.postgres.processes import last_complaint, run
from project.postgres.record import Record

logger = logging.getLogger(__name__)

# PostgreSQL's MAXPGPATH is 1024; initdb appends names of its own.
LONGEST_PATH = 900
# Says in a directory under /var/lib which checkout it serves.
OWNER_FILE = "checkout"
CONFIGURATION = Path(__file__).parent / "postgresql.conf"
INITDB_SECONDS = 300.0
LOCALES = ("C.UTF-8", "C")


def existing_data(places: Places, *, record: Record | None) -> Path | None:
    """Return the data directory of this checkout, or None when it has none yet.

    A directory that an interrupted start left half-made is moved aside.
    """
    remote = places.remote_room / "data"
    recorded = [Path(record.data)] if record else []
    for data in dict.fromkeys([places.data, *recorded, remote]):
        if data == places.data or _is_claimed(data.parent, places=places):
            if _is_complete(data):
                return data
            _put_aside(data)
    return None


def create_data(
    places: Places, *, account: Account, binaries: Binaries, passwords: Passwords
) -> Path:
    """Make a new data directory and return it: in `var`, else where `account` can reach one.

    It is made under another name and renamed when it is complete, so a start that is
    killed leaves nothing that would stop the next. Raises InitdbError.
    """
    _remove_scraps(places.var)
    is_short = len(os.fsencode(places.data)) <= LONGEST_PATH
    if not is_short and os.geteuid() != 0:
        raise PathTooLongError(places.data, limit=LONGEST_PATH)
    with _scratch_room(places.var, account=account) as scratch:
        if is_short and can_use(account, scratch):
            return _create(scratch, places.data, account, binaries, passwords)
    room = _claim_room(places)
    _remove_scraps(room)
    with _scratch_room(room, account=account) as scratch:
        return _create(scratch, room / "data", account, binaries, passwords)


def _create(
    scratch: Path, target: Path, account: Account, binaries: Binaries, passwords: Passwords
) -> Path:
    made = scratch / "data"
    pwfile = _write_pwfile(scratch, account=account, password=passwords.superuser)
    _run_initdb(made, target=target, pwfile=pwfile, account=account, binaries=binaries)
    with writing(target), (made / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write(CONFIGURATION.read_text(encoding="utf-8"))
    with writing(target):
        made.rename(target)
    logger.info("postgres_cluster_created data=%s version=%s", target, binaries.version)
    return target


def _run_initdb(
    made: Path, *, target: Path, pwfile: Path, account: Account, binaries: Binaries
) -> None:
    for locale in LOCALES:
        command = _initdb_command(made, pwfile=pwfile, locale=locale, binaries=binaries)
        result = run(command, user=account.process_options(), timeout_seconds=INITDB_SECONDS)
        if result.returncode == 0:
            return
        if "locale" not in result.stderr:
            break
    raise InitdbError(target, output=last_complaint(result.stderr))


def _initdb_command(made: Path, *, pwfile: Path, locale: str, binaries: Binaries) -> list[str]:
    return [
        binaries.program("initdb"),
        *("-D", str(made), "-U", SUPERUSER, "-A", "scram-sha-256", f"--pwfile={pwfile}"),
        *("--data-checksums", "-E", "UTF8", f"--locale={locale}"),
    ]


def _write_pwfile(scratch: Path, *, account: Account, password: str) -> Path:
    pwfile = scratch / "password"
    with writing(pwfile):
        descriptor = os.open(pwfile, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            _give(descriptor, account=account)
            file.write(password + "\n")
    return pwfile


@contextmanager
def _scratch_room(parent: Path, *, account: Account) -> Iterator[Path]:
    room = parent / f"postgres.new-{secrets.token_hex(4)}"
    with writing(room):
        room.mkdir(mode=0o700)
        _give(room, account=account)
    try:
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _give(path: Path | int, *, account: Account) -> None:
    if os.geteuid() != account.uid:
        os.chown(path, account.uid, account.gid)


def _remove_scraps(parent: Path) -> None:
    for scrap in parent.glob("postgres.new-*"):
        shutil.rmtree(scrap, ignore_errors=True)


def _claim_room(places: Places) -> Path:
    room = places.remote_room
    make_open(places.state_root)
    make_open(room)
    with writing(room):
        (room / OWNER_FILE).write_text(f"{places.var}\n", encoding="utf-8")
    return room


def _is_claimed(room: Path, *, places: Places) -> bool:
    # A moved checkout may go on with its data directory, a copy may not: two would share it.
    try:
        owner = (room / OWNER_FILE).read_text(encoding="utf-8").strip()
        if owner != str(places.var) and not Path(owner).exists():
            (room / OWNER_FILE).write_text(f"{places.var}\n", encoding="utf-8")
            return True
    except OSError:
        return False
    return owner == str(places.var)


def _is_complete(data: Path) -> bool:
    try:
        for name in ("PG_VERSION", "global/pg_control"):
            os.stat(data / name)  # noqa: PTH116 - `exists` hides a refusal on some Pythons
    except (FileNotFoundError, NotADirectoryError):
        return False
    except PermissionError:
        # Another user's; who that is, is told when the server's user is chosen.
        return True
    return True


def _put_aside(data: Path) -> None:
    if not data.exists() or not any(data.iterdir()):
        return
    if not (data / "PG_VERSION").exists():
        raise ForeignDirectoryError(data, reason="it is not empty and holds no PG_VERSION")
    aside = data.with_name(f"{data.name}.incomplete-{secrets.token_hex(4)}")
    with writing(data):
        data.rename(aside)
    logger.warning("postgres_incomplete_moved_aside data=%s aside=%s", data, aside)
