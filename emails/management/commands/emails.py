"""Look at queued mail and how its delivery stands, and act on it: ``manage.py emails``."""

from __future__ import annotations

from argparse import ArgumentParser

from emails.output import mail_actions, mail_reads, standing_actions, standing_reads
from jobs.output.command import ConsoleCommand


class Command(ConsoleCommand):
    help = "Look at queued mail, its channel, throttled domains and suppressed addresses, and act."

    def add_arguments(self, parser: ArgumentParser) -> None:
        commands = self.subcommands(parser)
        mail_reads.add_to(commands)
        mail_actions.add_to(commands)
        standing_reads.add_to(commands)
        standing_actions.add_to(commands)
