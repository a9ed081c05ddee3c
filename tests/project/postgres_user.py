"""
A process that uses the embedded server, for the tests: told by lines what to do.

    python -m tests.project.postgres_user VAR [--uid UID --gid GID] [--state-root DIR]

It answers each line with one line of JSON: {"ok": ...} or {"error": the refusal's text}.
Everything is imported before the privileges are dropped: afterwards the interpreter's own
library may be out of reach.
"""

from __future__ import annotations

import argparse
import codecs
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from project.postgres.attachment import Attachment, attach_at
from project.postgres.binaries import minimum_major, system_candidates
from project.postgres.errors import EmbeddedPostgresError
from project.postgres.places import STATE_ROOT, Places
from project.postgres.processes import run
from project.postgres.record import load_record


def main() -> None:
    arguments = parse()
    for encoding in ("ascii", "utf-8"):
        codecs.lookup(encoding)
    minimum_major()
    list(system_candidates())
    if arguments.uid is not None:
        os.setgroups([])
        os.setgid(arguments.gid)
        os.setuid(arguments.uid)
    user = User(Places(var=arguments.var, state_root=arguments.state_root))
    for line in sys.stdin:
        word, _, rest = line.strip().partition(" ")
        say(lambda word=word, rest=rest: getattr(user, word)(rest))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("var", type=Path)
    parser.add_argument("--uid", type=int)
    parser.add_argument("--gid", type=int)
    parser.add_argument("--state-root", type=Path, default=STATE_ROOT)
    return parser.parse_args()


def say(action: Callable[[], Any]) -> None:
    try:
        answer = {"ok": action()}
    except EmbeddedPostgresError as error:
        answer = {"error": str(error)}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


class User:
    def __init__(self, places: Places) -> None:
        self.places = places
        self.attachment: Attachment | None = None

    def attach(self, _rest: str) -> int:
        self.attachment = attach_at(self.places)
        return load_record(self.places).ready_pid

    def query(self, sql: str) -> str:
        command = [str(Path(load_record(self.places).binaries) / "psql"), "-XAtqc", sql]
        result = run(command, variables=self.attachment.address.libpq_environment())
        return (result.stdout + result.stderr).strip()

    def detach(self, _rest: str) -> None:
        self.attachment.detach()


if __name__ == "__main__":
    main()
