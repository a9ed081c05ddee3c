"""`manage.py postgres`: look at the embedded server, talk to it, stop it."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from project import env
from project.postgres import attach, programs_directory
from project.postgres.lifecycle import stop_running
from project.postgres.locks import exclusively, is_shared
from project.postgres.places import Places, make_var, places_of
from project.postgres.record import mark_unwanted
from project.postgres.status import Status, read_status


class Command(BaseCommand):
    """Only for the embedded server; with DATABASE_URL there is none."""

    help = "Show, query or stop the embedded PostgreSQL."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the three actions."""
        actions = parser.add_subparsers(dest="action", required=True)
        status = actions.add_parser("status", help="Say whether it runs, where, and who uses it.")
        status.add_argument("--json", action="store_true", help="Print it for programs.")
        psql = actions.add_parser("psql", help="Open psql; what follows is passed on to it.")
        psql.add_argument("arguments", nargs="*", help="Arguments of psql.")
        stop = actions.add_parser("stop", help="Stop it.")
        stop.add_argument("--force", action="store_true", help="Even while processes use it.")

    def run_from_argv(self, argv: list[str]) -> None:
        """Keep the options of psql from being taken for ours."""
        if argv[2:3] == ["psql"] and argv[3:4] != ["--"]:
            argv = [*argv[:3], "--", *argv[3:]]
        super().run_from_argv(argv)

    def handle(self, *_arguments: Any, **options: Any) -> None:
        """Do one of the actions."""
        if not env.uses_embedded_server():
            raise CommandError("DATABASE_URL is set: the embedded PostgreSQL is not used.")
        places = places_of(env.var_directory())
        match options["action"]:
            case "status":
                self._show(read_status(places), as_json=options["json"])
            case "psql":
                sys.exit(run_psql(places, arguments=options["arguments"]))
            case "stop":
                self.stdout.write(stop(places, force=options["force"]))

    def _show(self, status: Status, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps(dataclasses.asdict(status), indent=2))
        else:
            self.stdout.write("\n".join(describe(status)))


def describe(status: Status) -> list[str]:
    """Return the lines that tell a person the state."""
    state = "running" if status.ready else "starting" if status.running else "not running"
    users = [f"{user.pid} {user.command}" for user in status.users]
    unlisted = "yes, the system does not say by whom" if status.in_use else "nobody"
    rows = (
        ("server", f"{state}, process {status.pid}" if status.pid else state),
        ("started by", status.parent),
        ("runs as", status.account),
        ("version", status.version and f"{status.version} ({status.source})"),
        ("programs", status.programs),
        ("data", status.data),
        ("socket", status.sockets),
        ("log", status.log),
        ("used by", "\n            ".join(users) or unlisted),
    )
    return [f"{name + ':':12}{value}" for name, value in rows if value]


def run_psql(places: Places, *, arguments: Sequence[str]) -> int:
    """Run psql on the site's database, starting the server if need be; returns 0 or 1.

    A child rather than in our place: whoever is last to use the server stops it.
    """
    with attach(places.var) as attachment:
        program = (programs_directory(places.var) or places.var) / "psql"
        ours = attachment.address.libpq_environment()
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        # Ctrl-C ends a query, not psql.
        former = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            code = subprocess.call([program, *arguments], env=kept | ours)  # noqa: S603 - psql
        finally:
            signal.signal(signal.SIGINT, former)
    return 1 if code else 0


def stop(places: Places, *, force: bool) -> str:
    """Stop the server and return what to say; CommandError while processes use it."""
    make_var(places)
    with exclusively(places.mutex):
        if is_shared(places.users) and not force:
            raise CommandError(
                "The embedded PostgreSQL is in use (see `manage.py postgres status`); it stops "
                "with the last process that uses it. `--force` stops it now."
            )
        mark_unwanted(places)
        return "Stopped." if stop_running(places) else "It was not running."
