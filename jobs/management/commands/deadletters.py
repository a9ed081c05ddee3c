"""What will never be retried by itself: ``manage.py deadletters list``."""

from __future__ import annotations

from argparse import ArgumentParser

from jobs.output.command import ConsoleCommand, Options
from jobs.output.tables import Column
from jobs.output.words import when
from jobs.reads.bounded import bounded
from jobs.reads.deadletters import DeadLetterItem, list_dead_letters

TABLE = (
    Column(title="queue"),
    Column(title="dead"),
    Column(title="oldest"),
    Column(title="job"),
    Column(title="reasons", shrinks=True),
    Column(title="page", optional=True),
)


class Command(ConsoleCommand):
    help = "List the queues with their dead letters. Retry is a command of each queue's own."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = self.subcommands(parser)
        commands.add("list", show_queues, "a line per queue: how many, since when, why")


def show_queues(console: ConsoleCommand, options: Options) -> None:
    """Print the queues."""
    with bounded():
        found = list_dead_letters()
    if options["json"]:
        console.emit(found)
        return
    rows = [_row(item) for item in found.items]
    console.show_table(TABLE, rows, nothing="No declared job works a queue.")


def _row(item: DeadLetterItem) -> tuple[object, ...]:
    return (
        item.id,
        f"{item.count:,}+" if item.is_capped else f"{item.count:,}",
        when(item.oldest_at, now=item.read_at),
        item.job_id,
        "; ".join(f"{reason.count} x {reason.text or 'no error kept'}" for reason in item.reasons),
        item.admin_url,
    )
