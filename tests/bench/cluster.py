"""A PostgreSQL server for the benchmark alone: durable, empty, removed at the end."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from project import postgres


@contextlib.contextmanager
def own_cluster(var: Path) -> Iterator[None]:
    """Run a server in the directory and set Django up on it, its tables made."""
    os.environ |= {
        "ENGINEROOM_VAR": str(var),
        "DJANGO_SETTINGS_MODULE": "tests.bench.settings",
        "SECRET_KEY": "only-for-the-benchmark",
    }
    os.environ.pop("DATABASE_URL", None)
    with postgres.attach(var):
        _set_up()
        try:
            yield
        finally:
            _close()
    shutil.rmtree(var, ignore_errors=True)


def programs() -> Path:
    """Return where the server's own pgbench is."""
    directory = postgres.programs_directory(Path(os.environ["ENGINEROOM_VAR"]))
    assert directory is not None
    return directory


def libpq_environment() -> dict[str, str]:
    """Return the environment that leads pgbench to the database."""
    address = postgres.connection_parameters(Path(os.environ["ENGINEROOM_VAR"]))
    return os.environ | address.libpq_environment()


def _set_up() -> None:
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def _close() -> None:
    from django.db import connections

    from jobs import notifier

    notifier.close()
    connections.close_all()
