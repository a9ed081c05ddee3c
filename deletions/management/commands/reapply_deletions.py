"""Doing deletions again after a backup was restored: ``manage.py reapply_deletions``."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import dataclass
from pathlib import Path

from deletions import conf
from deletions.proof import read_proofs
from deletions.reapply import Reapplied, ReapplyItem, reapply
from jobs.commands import EXIT_PROBLEM
from jobs.output.actors import command_actor
from jobs.output.command import ConsoleCommand, Options, add_json
from jobs.output.tables import Column
from jobs.output.words import when
from jobs.schedule import database_now

TABLE = (
    Column(title="user"),
    Column(title="deleted"),
    Column(title="result", is_state=True),
    Column(title="what", shrinks=True),
    Column(title="deletion"),
    Column(title="page", optional=True),
)


@dataclass(frozen=True, kw_only=True)
class ReappliedFile:
    """What became of a file."""

    path: str
    items: tuple[ReapplyItem, ...]
    unreadable_lines: tuple[int, ...]
    dry_run: bool


class Command(ConsoleCommand):
    help = (
        "After a restore: queue the deletions again that were done since the backup was made, "
        "as deletions.jsonl beside the backups has them."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add_json(parser)
        parser.add_argument(
            "--from", dest="path", metavar="FILE", help="default: deletions.jsonl in BACKUP_DIR"
        )
        parser.add_argument("--dry-run", action="store_true", help="change nothing")
        parser.set_defaults(act=reapply_file)


def reapply_file(console: ConsoleCommand, options: Options) -> None:
    """Queue them, and end with 1 if a line could not be read or a user is somebody else."""
    path = Path(options["path"]) if options["path"] else conf.proof_path()
    found = read_proofs(path)
    items = reapply(found.proofs, actor=command_actor(None), dry_run=options["dry_run"])
    answer = ReappliedFile(
        path=str(path),
        items=items,
        unreadable_lines=found.unreadable,
        dry_run=options["dry_run"],
    )
    if options["json"]:
        console.emit(answer)
    else:
        _show(console, answer)
    for number in answer.unreadable_lines:
        console.notice(f"{path}: line {number} is no finished deletion, and was left out.")
    if answer.unreadable_lines or _has(items, Reapplied.ANOTHER):
        console.leave(EXIT_PROBLEM)


def _show(console: ConsoleCommand, answer: ReappliedFile) -> None:
    now = database_now()
    rows = [
        (
            item.user_id,
            when(item.deleted_at, now=now),
            item.result,
            item.words,
            item.id,
            item.admin_url,
        )
        for item in answer.items
    ]
    console.show_table(TABLE, rows, nothing=f"{answer.path} holds no deletion.")
    if _has(answer.items, Reapplied.QUEUED) and not answer.dry_run:
        console.notice("deletions.users carries them out.")


def _has(items: tuple[ReapplyItem, ...], result: Reapplied) -> bool:
    return any(item.result == result.value for item in items)
