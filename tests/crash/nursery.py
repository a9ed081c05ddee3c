"""
Starts workers quickly: the site is imported once, and each worker is a fork of that.

A request is one line of JSON on the standard input, ``{"arguments": […], "log": "…"}``; the
answer is the child's pid. The exit code of a child is written to the log's name with ``.code``.
The end of the input kills all children.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from pathlib import Path

import django

LOOK_SECONDS = 0.02


def main() -> int:
    """Answer requests until the input ends; in a child, run its command."""
    # Imported by the parent, so that no child has to.
    django.setup()
    import uvicorn  # noqa: F401

    import jobs.management.commands.runworkers  # noqa: F401

    children: dict[int, Path] = {}
    print("ready", flush=True)
    while True:
        reap(children)
        if not select.select([sys.stdin], [], [], LOOK_SECONDS)[0]:
            continue
        line = sys.stdin.readline()
        if not line:
            break
        request = json.loads(line)
        log = Path(request["log"])
        pid = os.fork()
        if pid == 0:
            return become_worker(request["arguments"], log)
        children[pid] = log
        print(pid, flush=True)
    for pid in children:
        os.kill(pid, signal.SIGKILL)
    return 0


def reap(children: dict[int, Path]) -> None:
    """Note the exit codes of children that have ended."""
    for pid, log in list(children.items()):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            del children[pid]
            draft = log.with_suffix(".draft")
            draft.write_text(str(os.waitstatus_to_exitcode(status)))
            draft.rename(log.with_suffix(".code"))


def become_worker(arguments: list[str], log: Path) -> int:
    """Run a command of the site with its output in a file."""
    from project.entry import run

    nothing = os.open(os.devnull, os.O_RDONLY)
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for source, target in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(source, target)
    return run(["manage.py", *arguments])


if __name__ == "__main__":
    sys.exit(main())
