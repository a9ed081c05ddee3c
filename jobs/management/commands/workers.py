"""The processes that work: ``manage.py workers list``."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass

from jobs.output.command import ConsoleCommand, Options
from jobs.output.tables import Column
from jobs.output.waiting import NO_WORKER
from jobs.output.words import when
from jobs.reads.bounded import bounded
from jobs.reads.workers import WorkerItem, list_workers

TABLE = (
    Column(title="worker"),
    Column(title="state", is_state=True),
    Column(title="listen", is_state=True),
    Column(title="heartbeat", shrinks=True),
    Column(title="started", shrinks=True),
    Column(title="claims"),
    Column(title="loops"),
    Column(title="version"),
    Column(title="page", optional=True),
)


@dataclass(frozen=True, kw_only=True)
class Workers:
    """The processes of the last day, the last started first."""

    items: tuple[WorkerItem, ...]
    next_before_id: None = None  # there is only one page


class Command(ConsoleCommand):
    help = "List the processes that work."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = self.subcommands(parser)
        commands.add("list", show_workers, "the processes of the last day")


def show_workers(console: ConsoleCommand, options: Options) -> None:
    """Print the processes."""
    with bounded():
        workers = Workers(items=list_workers())
    if options["json"]:
        console.emit(workers)
        return
    console.show_table(TABLE, [_row(worker) for worker in workers.items])
    if not any(worker.is_alive for worker in workers.items):
        console.notice(NO_WORKER)


def _row(worker: WorkerItem) -> tuple[object, ...]:
    return (
        worker.id,
        _state(worker),
        worker.listen if worker.is_alive else "",
        when(worker.heartbeat_at, now=worker.read_at),
        when(worker.started_at, now=worker.read_at),
        worker.claims_held,
        len(worker.loops),
        worker.version,
        worker.admin_url,
    )


def _state(worker: WorkerItem) -> str:
    if worker.stopped_at is not None:
        return "stopped"
    if not worker.is_alive:
        return "dead"
    return "draining" if worker.draining else "alive"
