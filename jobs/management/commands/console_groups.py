"""Create or update the console's groups: ``manage.py console_groups``."""

from __future__ import annotations

from argparse import ArgumentParser

from jobs.models.audit import Via
from jobs.output.actors import command_actor
from jobs.output.command import ConsoleCommand, Options, add_json
from jobs.output.group_rows import GroupItem, write_groups
from jobs.output.tables import Column

TABLE = (
    Column(title="group"),
    Column(title="permissions"),
    Column(title="added"),
    Column(title="removed"),
    Column(title="users"),
    Column(title="page", optional=True),
)


class Command(ConsoleCommand):
    help = (
        "Create or update the groups Observer, Operator and Administrator. Permissions that "
        "you gave them for other apps stay."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json(parser)
        parser.add_argument("--user", metavar="NAME", help="who acts (default: yours here)")
        parser.set_defaults(act=update_groups)


def update_groups(console: ConsoleCommand, options: Options) -> None:
    """Write the groups and say what changed."""
    found = write_groups(actor=command_actor(options["user"]), via=Via.COMMAND)
    if options["json"]:
        console.emit(found)
        return
    console.show_table(TABLE, [_row(item) for item in found.items])


def _row(item: GroupItem) -> tuple[object, ...]:
    return (
        item.name,
        len(item.permissions),
        len(item.added),
        len(item.removed),
        item.users,
        item.admin_url,
    )
