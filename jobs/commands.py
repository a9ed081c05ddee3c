"""What the engine's commands share: exit codes, and errors on one line."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import InterfaceError, OperationalError

from jobs import conf
from jobs.errors import EngineroomError, MissingSettingError, SettingError, UnknownJobError
from jobs.failure import headline
from jobs.outage import is_outage

EXIT_PROBLEM = 1
EXIT_USAGE = 2
EXIT_DATABASE = 3


class EngineCommand(BaseCommand):
    """A command whose refusals are one line, and whose exit code says of which kind."""

    def execute(self, *args: Any, **options: Any) -> str | None:
        try:
            for setting in conf.SETTINGS:
                setting.get()
            return super().execute(*args, **options)
        except (SettingError, MissingSettingError, UnknownJobError) as error:
            raise CommandError(str(error), returncode=EXIT_USAGE) from error
        except EngineroomError as error:
            raise CommandError(str(error), returncode=EXIT_PROBLEM) from error
        except (OperationalError, InterfaceError) as error:
            if not is_outage(error):
                raise
            raise CommandError(
                f"The database is not reachable: {headline(error)}", returncode=EXIT_DATABASE
            ) from error

    def leave(self, code: int) -> None:
        """End the process with an exit code other than 0."""
        if code:
            sys.exit(code)
