"""What tests of commands share: calling one as a shell does, and comparing its JSON."""

from __future__ import annotations

import contextlib
import io
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management import load_command_class
from django.core.management.base import CommandError

SNAPSHOTS = Path(__file__).resolve().parents[1] / "snapshots"
# Writes what is compared otherwise; look at the difference before you commit it.
WRITE = os.environ.get("ENGINEROOM_SNAPSHOTS") == "write"


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def json(self) -> Any:
        """The one line of output, as JSON."""
        (line,) = self.lines
        return json.loads(line)


class Terminal(io.StringIO):
    """An output that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def manage(name: str, *arguments: object, terminal: bool = False, app: str = "jobs") -> Ended:
    """Run a command of the engine in this process, with what the shell would see."""
    out, err = (Terminal() if terminal else io.StringIO()), io.StringIO()
    command: Any = load_command_class(app, name)
    command._called_from_command_line = True
    code = 0
    try:
        with contextlib.redirect_stderr(err):
            parser = command.create_parser("manage.py", name)
            options = vars(parser.parse_args([str(argument) for argument in arguments]))
        command.execute(**{**options, "skip_checks": True}, stdout=out, stderr=err)
    except CommandError as error:
        code = error.returncode
        err.write(f"{error}\n")
    except SystemExit as end:
        code = int(end.code or 0)
    return Ended(code=code, out=out.getvalue(), err=err.getvalue())


def same_as_snapshot(name: str, found: Any) -> None:
    """Compare with ``tests/snapshots/cli_NAME.json``."""
    path = SNAPSHOTS / f"cli_{name}.json"
    if WRITE:
        path.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert found == json.loads(path.read_text(encoding="utf-8"))
