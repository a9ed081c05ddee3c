"""
What happens before and after a command: settings checked, the embedded server up.

Exit codes of every command: 0 fine, 1 a problem found or refused, 2 wrong usage or
settings, 3 database not reachable.
"""

from __future__ import annotations

import atexit
import contextlib
import sys
from collections.abc import Iterator, Sequence

from django.core.management import execute_from_command_line
from django.db import InterfaceError, OperationalError

from jobs.errors import MissingSettingError, SettingError
from jobs.failure import headline
from jobs.outage import is_outage
from project import env, postgres
from project.postgres.errors import EmbeddedPostgresError, VarNotWritableError

EXIT_SETTINGS = 2
EXIT_DATABASE = 3
# They say something about the server, or nothing at all about the database.
WITHOUT_SERVER = {"", "help", "version", "--version", "--help", "postgres"}


def run(arguments: Sequence[str]) -> int:
    """Run a management command with the embedded server up; return the exit code."""
    try:
        env.secret_key()
        with _server(arguments[1] if len(arguments) > 1 else ""):
            execute_from_command_line(list(arguments))
    except (SettingError, MissingSettingError) as error:
        return _refuse(error, EXIT_SETTINGS)
    except EmbeddedPostgresError as error:
        return _refuse_embedded(error)
    except (OperationalError, InterfaceError) as error:
        if not is_outage(error):
            raise
        sys.stderr.write(f"The database is not reachable: {headline(error)}\n")
        return EXIT_DATABASE
    return 0


def prepare() -> None:
    """Bring the embedded server up for a web server; it stays until the process ends."""
    try:
        env.secret_key()
        if env.uses_embedded_server():
            atexit.register(postgres.attach(env.var_directory()).detach)
    except (SettingError, MissingSettingError) as error:
        raise SystemExit(_refuse(error, EXIT_SETTINGS)) from None
    except EmbeddedPostgresError as error:
        raise SystemExit(_refuse_embedded(error)) from None


@contextlib.contextmanager
def _server(command: str) -> Iterator[None]:
    if command in WITHOUT_SERVER or not env.uses_embedded_server():
        yield
        return
    with postgres.attach(env.var_directory()):
        yield


def _refuse_embedded(error: EmbeddedPostgresError) -> int:
    if isinstance(error, VarNotWritableError):
        allowed = f"a directory that this user can write to ({error.message.rstrip('.')})"
        wrong = SettingError("ENGINEROOM_VAR", env.var_directory(), allowed)
        return _refuse(wrong, EXIT_SETTINGS)
    return _refuse(error, EXIT_DATABASE)


def _refuse(error: Exception, code: int) -> int:
    sys.stderr.write(f"{error}\n")
    return code
