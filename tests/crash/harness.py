"""Real worker processes and a real SMTP server in a process of its own, for tests that kill."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote, urlencode

from tests.conftest import wait_until

ROOT = Path(__file__).resolve().parents[2]
# Long forms of these tests: the figures that are published, in some minutes.
LIMIT_SECONDS = 50
SHORT_WINDOWS = {
    "WORKER_CLAIM_STALE_MS": "1500",
    "WORKER_SHUTDOWN_GRACE_MS": "5000",
    "JOB_LEASE_MS": "3000",
    "RETRY_BACKOFF_MS": "100",
    "EMAIL_POLL_MS": "300",
    "EMAIL_CONNECTIONS": "4",
    "EMAIL_MAX_STALE_RECOVERIES": "50",
}


@dataclass(eq=False)
class WorkerProcess:
    """One command in a process of its own; its output is in a file."""

    pid: int
    log: Path

    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def await_output(self, text: str, *, seconds: float = LIMIT_SECONDS) -> None:
        wait_until(lambda: text in self.output(), seconds=seconds, what=f"{text!r} is printed")

    def await_start(self) -> None:
        """Wait until all loops run."""
        self.await_output("database connections at most")

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    @property
    def code(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        path = self.log.with_suffix(".code")
        return int(path.read_text()) if path.exists() else None

    def wait(self, *, seconds: float = LIMIT_SECONDS) -> int:
        """Wait for the end and return the exit code."""
        wait_until(lambda: self.code is not None, seconds=seconds, what=f"{self.log} has ended")
        assert self.code is not None
        return self.code

    def kill(self) -> None:
        """End it as a power cut does; it is gone when this returns."""
        with contextlib.suppress(ProcessLookupError):
            self.send(signal.SIGKILL)
        self.wait()

    def stop(self) -> int:
        """End it as a deploy does."""
        self.send(signal.SIGTERM)
        return self.wait()

    def lines(self, event: str) -> list[str]:
        """Return what was logged under an event name, from there on."""
        return re.findall(rf"{event}.*", self.output())


class Fleet:
    """Workers of one site, all with the same settings. Use it in a `with`."""

    def __init__(self, directory: Path, *, database_url: str, **environment: str) -> None:
        self.directory = directory
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.environment = {
            **kept,
            **SHORT_WINDOWS,
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "tests.crash.settings",
            "DATABASE_URL": database_url,
            "SECRET_KEY": "only-for-tests",
            "ENGINEROOM_VAR": str(directory),
            **environment,
        }
        self.started: list[WorkerProcess] = []
        self._errors = (directory / "nursery.log").open("wb")

    def __enter__(self) -> Self:
        self._nursery = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.nursery"],
            cwd=ROOT,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        assert self._answer() == "ready", (self.directory / "nursery.log").read_text()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill_all()
        for stream in (self._nursery.stdin, self._nursery.stdout):
            if stream is not None:
                stream.close()
        self._nursery.wait(30)
        self._errors.close()

    def start(self, *arguments: str) -> WorkerProcess:
        """Start ``runworkers`` with these arguments."""
        return self.run("runworkers", *arguments)

    def run(self, *command: str) -> WorkerProcess:
        """Start a command of the site."""
        log = self.directory / f"worker-{len(self.started) + 1}.log"
        assert self._nursery.stdin is not None
        request = {"arguments": command, "log": str(log)}
        self._nursery.stdin.write(json.dumps(request) + "\n")
        self._nursery.stdin.flush()
        worker = WorkerProcess(pid=int(self._answer()), log=log)
        self.started.append(worker)
        return worker

    def kill_all(self) -> None:
        """End what still runs."""
        for worker in self.started:
            if worker.code is None:
                worker.kill()

    def _answer(self) -> str:
        assert self._nursery.stdout is not None
        return self._nursery.stdout.readline().strip()


@dataclass(kw_only=True)
class Sink:
    """The SMTP server; see smtp_sink. Use it in a `with`."""

    log: Path
    options: tuple[str, ...] = ()
    port: int = 0
    _process: Any = field(default=None, repr=False)

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.smtp_sink", str(self.log), *self.options],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.port = int(self._process.stdout.readline())
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait(30)
        self._process.stdout.close()

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    def mails(self) -> list[dict[str, Any]]:
        """Return what it has seen the final dot of, in order, with its answer."""
        return list(self._records())

    def copies(self) -> Counter[str]:
        """Return how often each Message-ID has arrived."""
        return Counter(mail["message_id"] for mail in self._records())

    def forms(self) -> Mapping[str, set[str]]:
        """Return the digests of the bytes that came under each Message-ID."""
        forms: dict[str, set[str]] = {}
        for mail in self._records():
            forms.setdefault(mail["message_id"], set()).add(mail["sha256"])
        return forms

    def _records(self) -> Iterator[dict[str, Any]]:
        if not self.log.exists():
            return
        with self.log.open() as lines:
            for line in lines:
                if line.endswith("\n"):
                    yield json.loads(line)


def url_of(entry: Mapping[str, Any]) -> str:
    """Return an entry of Django's DATABASES as a URL."""
    options = {
        "host": entry["HOST"],
        "port": str(entry["PORT"]),
        "password": entry.get("PASSWORD"),
        **entry.get("OPTIONS", {}),
    }
    given = {name: value for name, value in options.items() if value and isinstance(value, str)}
    return f"postgres://{quote(entry['USER'])}@/{quote(entry['NAME'])}?{urlencode(given)}"
