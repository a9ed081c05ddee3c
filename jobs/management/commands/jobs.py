"""Look at jobs and runs, and act on them: ``manage.py jobs``."""

from __future__ import annotations

from argparse import ArgumentParser

from jobs.output import job_actions, job_reads
from jobs.output.command import ConsoleCommand


class Command(ConsoleCommand):
    help = "Look at jobs and runs; run, pause and resume jobs, cancel runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        verbs = self.subcommands(parser)
        job_reads.add_to(verbs)
        job_actions.add_to(verbs)
