"""Web processes of their own, as a site runs them: uvicorn with the project's application."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from tests.conftest import wait_until
from tests.crash.harness import ROOT, Fleet


@dataclass(eq=False)
class Web:
    """One web process; its output is in a file."""

    process: subprocess.Popen[bytes]
    log: Path
    url: str

    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def lines(self, event: str) -> list[str]:
        return [line for line in self.output().splitlines() if event in line]

    def readyz(self) -> Any:
        with urllib.request.urlopen(f"{self.url}/readyz", timeout=15) as answer:
            return json.loads(answer.read())

    def await_listening(self, state: str = "listening") -> None:
        """Wait until it hears the bus."""
        wait_until(self._answers, what=f"{self.url} answers")
        wait_until(lambda: self.readyz()["realtime"]["listen"] == state, what=state)

    @property
    def resident_mb(self) -> float:
        return psutil.Process(self.process.pid).memory_info().rss / 1_000_000

    def stop(self) -> int:
        """End it as a deploy does."""
        self.process.terminate()
        return self.process.wait(30)

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(30)

    def _answers(self) -> bool:
        assert self.process.poll() is None, self.output()
        with socket.socket() as trying:
            return trying.connect_ex(("127.0.0.1", int(self.url.rpartition(":")[2]))) == 0


def start_web(fleet: Fleet, **environment: str) -> Web:
    """Start uvicorn with the environment of a fleet."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    log = fleet.directory / f"web-{port}.log"
    arguments = ["--host", "127.0.0.1", "--port", str(port), "--log-level", "warning"]
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "project.asgi:application", *arguments],
            cwd=ROOT,
            env={**fleet.environment, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    return Web(process=process, log=log, url=f"http://127.0.0.1:{port}")
