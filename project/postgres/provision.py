"""The site's role and database inside the server."""

from __future__ import annotations

from pathlib import Path

from project.postgres import sockets
from project.postgres.errors import ProvisionError
from project.postgres.passwords import SUPERUSER, Passwords
from project.postgres.processes import last_complaint, run
from project.postgres.server import Server

STATEMENTS = Path(__file__).parent / "sql" / "provision.sql"


def provision(server: Server, *, passwords: Passwords) -> None:
    """Make the role and the database if they are missing and set the passwords.

    Raises ProvisionError with the last line that psql printed.
    """
    passfile = server.places.passfile
    variables = {"PGPASSFILE": str(passfile)}
    result = run(_psql(server), text=_script(passwords), variables=variables)
    if result.returncode != 0:
        raise ProvisionError(output=last_complaint(result.stderr), passfile=passfile)


def _psql(server: Server) -> list[str]:
    address = ["-h", str(server.sockets), "-p", str(sockets.PORT)]
    manner = ["-X", "-q", "-w", "-v", "ON_ERROR_STOP=1", "-f", "-"]
    return [server.binaries.program("psql"), *manner, *address, "-U", SUPERUSER, "-d", "postgres"]


def _script(passwords: Passwords) -> str:
    # By standard input: arguments can be read by every user of the machine.
    variables = (
        f"\\set role_password {passwords.role}\n\\set superuser_password {passwords.superuser}\n"
    )
    return variables + STATEMENTS.read_text(encoding="utf-8")
