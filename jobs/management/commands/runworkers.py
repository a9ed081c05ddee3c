"""Run every job in this process: ``manage.py runworkers``."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db import connections
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from jobs import conf
from jobs.cadence import Every, Manual
from jobs.commands import EXIT_USAGE, EngineCommand
from jobs.declarations import JobDeclaration, registry
from jobs.errors import UnappliedMigrationsError
from jobs.workers import collector
from jobs.workers.process import WorkerProcess, cadence_text
from jobs.workers.single import SinglePasses

FIRES = 5


class Command(EngineCommand):
    help = "Run the declared jobs in this process until SIGTERM or Ctrl-C."
    # The database may be away at the start: migrations are looked at once it answers.
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--only", nargs="+", metavar="ID", default=[], help="run these jobs")
        parser.add_argument("--exclude", nargs="+", metavar="ID", default=[], help="run all others")
        parser.add_argument(
            "--web",
            nargs="?",
            const="",
            metavar="HOST:PORT",
            help=f"also serve the site (default {conf.WEB.default})",
        )
        ends = parser.add_mutually_exclusive_group()
        ends.add_argument("--once", action="store_true", help="one pass of each job, then exit")
        ends.add_argument(
            "--drain",
            action="store_true",
            help="until nothing is due and nothing processing, then exit",
        )
        ends.add_argument("--list", action="store_true", help="list the jobs, then exit")

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = choose(options["only"], options["exclude"])
        if options["list"]:
            for declaration in chosen:
                self.stdout.write(job_line(declaration, fires=FIRES))
            return
        if not conf.WORKERS.get():
            self.stdout.write("ENGINEROOM_WORKERS=off: no timer is started, nothing runs.")
            return
        if options["once"] or options["drain"]:
            self.leave(self._run_single(chosen, drain=options["drain"]))
            return
        self.leave(self._run(chosen, options["web"]))

    def _run_single(self, chosen: list[JobDeclaration], *, drain: bool) -> int:
        refuse_unapplied_migrations()
        passes = SinglePasses(chosen, say=self._say)
        return passes.drain() if drain else passes.once()

    def _run(self, chosen: list[JobDeclaration], web: str | None) -> int:
        process = WorkerProcess(
            chosen, say=self._say, check=refuse_unapplied_migrations, web=_web_address(web)
        )
        collector.settle_in()
        return process.run()

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def choose(only: list[str], exclude: list[str]) -> list[JobDeclaration]:
    """Return the declarations to run; raise ``UnknownJobError`` for an id that nobody declares."""
    named = {job_id: registry.get(job_id) for job_id in (*only, *exclude)}
    chosen = [named[job_id] for job_id in dict.fromkeys(only)] if only else list(registry)
    chosen = [declaration for declaration in chosen if declaration.id not in exclude]
    if not chosen:
        raise CommandError("No job is left to run.", returncode=EXIT_USAGE)
    return chosen


def refuse_unapplied_migrations() -> None:
    """Raise when the database is older than the code."""
    executor = MigrationExecutor(connections["default"])
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        raise UnappliedMigrationsError([str(migration) for migration, _ in plan])


def job_line(declaration: JobDeclaration, *, fires: int = 1) -> str:
    """Return a job on one line: id, cadence, next fire times."""
    line = f"  {declaration.id:<24} {cadence_text(declaration)}"
    try:
        cadence = declaration.cadence
    except Exception:  # noqa: BLE001 (its words already say that it is broken)
        return line
    if isinstance(cadence, Every | Manual):
        return line
    instants = []
    instant = timezone.now()
    for _ in range(fires):
        instant = cadence.next_after(instant)
        instants.append(f"{instant:%Y-%m-%d %H:%M} UTC")
    return f"{line}; next {', '.join(instants)}"


def _web_address(web: str | None) -> tuple[str, int] | None:
    if web is None:
        return None
    return conf.split_address(conf.WEB.name, web or conf.WEB.get())
