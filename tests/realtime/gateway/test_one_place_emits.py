"""python-socketio takes an empty audience for everybody, so only one place may emit."""

from __future__ import annotations

import ast
from pathlib import Path

import deletions
import emails
import jobs
import project
import realtime
import retention

PACKAGES = (jobs, emails, deletions, realtime, retention, project)
SAYING = {"emit", "send_packet", "_send_packet", "_send_eio_packet"}
# Lines of a command on its output.
OTHERS = {"console.emit", "self.emit"}
ALLOWED = {
    "realtime/gateway/emitting.py": {"self._server.eio.send_packet"},
    "realtime/gateway/delivery.py": {"self._emitter.emit"},
}


def calls(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            yield ast.unparse(node.func)


def test_nothing_but_the_emitter_sends_to_a_socket():
    found: dict[str, set[str]] = {}
    for package in PACKAGES:
        root = Path(package.__file__).parent
        for path in root.rglob("*.py"):
            said = {one for one in calls(path) if one.rpartition(".")[2] in SAYING} - OTHERS
            if said:
                found[f"{root.name}/{path.relative_to(root)}"] = said

    assert found == ALLOWED
