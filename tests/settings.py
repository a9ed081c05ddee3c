"""Settings of the tests: this site on its embedded server, with no timers."""

from __future__ import annotations

import atexit
import logging
import os
from pathlib import Path

import psycopg

os.environ.setdefault(
    "ENGINEROOM_VAR", str(Path(__file__).resolve().parent.parent / "var" / "tests")
)
os.environ["ENGINEROOM_WORKERS"] = "off"
os.environ.setdefault("SECRET_KEY", "only-for-tests")

from project import env, postgres

if env.uses_embedded_server():
    atexit.register(postgres.attach(env.var_directory()).detach)
    # Runs first: by then the streams of the log are closed.
    atexit.register(logging.disable)
    _address = postgres.connection_parameters(env.var_directory())
    # Only this cluster of tests: a hundred TRUNCATEs need not reach the disk.
    with psycopg.connect(
        host=_address.host,
        port=_address.port,
        user="postgres",
        dbname="postgres",
        passfile=_address.passfile,
        autocommit=True,
    ) as _connection:
        _connection.execute("ALTER SYSTEM SET fsync = off")
        _connection.execute("SELECT pg_reload_conf()")

from project.settings import *  # noqa: F403
from project.settings import DATABASES, INSTALLED_APPS

# Two runs at a time, such as of two Python versions, do not drop each other's database.
DATABASES["default"]["TEST"] = {"NAME": f"test_engineroom_{os.getpid()}"}
INSTALLED_APPS = [*INSTALLED_APPS, "tests.testapp", "tests.deletions.shop"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
