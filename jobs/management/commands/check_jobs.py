"""Say what is wrong with the background work, without any worker: ``manage.py check_jobs``."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from jobs.alerts.checking import CheckAnswer, check, problem_line
from jobs.commands import EXIT_PROBLEM, EngineCommand


class Command(EngineCommand):
    help = (
        "Evaluate the alert rules here and now, writing nothing: a line per problem and exit 1, "
        "or nothing and exit 0. Run it from cron or a monitor: it depends on no worker."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        answer = check()
        if options["json"]:
            self.stdout.write(as_json(answer))
        else:
            for problem in answer.items:
                self.stdout.write(problem_line(problem))
        self.leave(0 if answer.ok else EXIT_PROBLEM)


def as_json(answer: CheckAnswer) -> str:
    """Return the answer as one JSON object, times in ISO 8601 with Z."""
    return json.dumps(asdict(answer), cls=DjangoJSONEncoder)
