"""``rclone serve s3``: quick, and a server that keeps no versions and holds no odd keys."""

from __future__ import annotations

from pathlib import Path

from tests.stores.processes import BIN, HOST, Server, free_ports

KEY, SECRET = "rclonekey", "rclonesecret"


class Rclone:
    """A server of a directory, one bucket per directory in it."""

    def __init__(self, directory: Path) -> None:
        self.data = directory / "data"
        self.data.mkdir(parents=True)
        (port,) = free_ports(1)
        self.endpoint = f"s3://{KEY}:{SECRET}@{HOST}:{port}/?secure=off"
        command = [str(BIN / "rclone"), "serve", "s3", str(self.data)]
        command += ["--addr", f"{HOST}:{port}", "--auth-key", f"{KEY},{SECRET}"]
        command += ["--config", str(directory / "rclone.conf")]
        (directory / "rclone.conf").touch()
        self.server = Server(command, port=port, log=directory / "rclone.log")

    def start(self) -> None:
        self.server.start()

    def close(self) -> None:
        self.server.kill()
