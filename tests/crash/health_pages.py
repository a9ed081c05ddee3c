"""The health pages of a worker whose ``WORKER_HEALTH`` has port 0."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

import psutil

from tests.crash.harness import WorkerProcess


def health(worker: WorkerProcess, page: str) -> tuple[int, dict[str, Any]]:
    """Return the status and the body of a page."""
    sockets = psutil.Process(worker.pid).net_connections("tcp")
    (port,) = {one.laddr.port for one in sockets if one.status == psutil.CONN_LISTEN}
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{page}", timeout=15) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())
