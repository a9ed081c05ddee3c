"""Delivery into a directory of .eml files, and onto the console: for trying things out."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
import secrets
import sys
import threading
from pathlib import Path
from typing import TextIO

from emails.envelopes import (
    BeforeDot,
    ChannelError,
    DeliveryResult,
    Envelope,
    all_alike,
    channel_down,
)
from emails.replies import Outcome, Stage

LONGEST_NAME = 100
UNSAFE = re.compile(r"[^A-Za-z0-9.@_-]+")


class FileTransport:
    """Writes each mail as one file, byte by byte what SMTP would have sent."""

    def __init__(self, directory: Path) -> None:
        """Write into `directory`, which is made (0700) when the first mail comes."""
        self._directory = directory

    def deliver(self, envelope: Envelope, *, before_dot: BeforeDot) -> DeliveryResult:
        """Write one file, atomically and to the disk. A failing directory is a channel error."""
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            draft = self._write_draft(envelope.raw)
        except OSError as error:
            return self._failed(envelope, error)
        with contextlib.ExitStack() as stack:
            stack.callback(draft.unlink, missing_ok=True)
            before_dot()
            try:
                self._publish(draft, envelope.name)
            except OSError as error:
                return self._failed(envelope, error)
        return all_alike(envelope.recipients, Outcome.ACCEPTED, detail="written to a file")

    def close_idle(self) -> None:
        """Hold nothing, so let go of nothing."""

    def close(self) -> None:
        """Hold nothing open, so close nothing."""

    def abort(self) -> None:
        """Never wait, so have nothing to break off."""

    def _write_draft(self, raw: bytes) -> Path:
        draft = self._directory / f".{secrets.token_hex(8)}.tmp"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(raw)
            file.flush()
            os.fsync(file.fileno())
        return draft

    def _publish(self, draft: Path, name: str) -> None:
        stem = f"{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%S.%fZ}-{_safe(name)}"
        target, number = self._directory / f"{stem}.eml", 1
        while not _moved(draft, target):
            number += 1
            target = self._directory / f"{stem}-{number}.eml"
        _sync_directory(self._directory)

    def _failed(self, envelope: Envelope, error: OSError) -> DeliveryResult:
        detail = f"cannot write into {self._directory}: {error.strerror or error}"
        return channel_down(envelope.recipients, ChannelError(stage=Stage.CONNECT, detail=detail))


class ConsoleTransport:
    """Writes each mail to the standard output."""

    def __init__(self, stream: TextIO | None = None) -> None:
        """Write to `stream`, or to whatever is the standard output at the time."""
        self._stream = stream
        self._lock = threading.Lock()

    def deliver(self, envelope: Envelope, *, before_dot: BeforeDot) -> DeliveryResult:
        """Write one mail and a line of hyphens. An output that fails is a channel error."""
        before_dot()
        text = envelope.raw.decode("utf-8", "replace").replace("\r\n", "\n")
        try:
            with self._lock:
                stream = self._stream or sys.stdout
                stream.write(f"{text}\n{'-' * 79}\n")
                stream.flush()
        except (OSError, ValueError) as error:  # ValueError: the stream is closed
            failed = ChannelError(
                stage=Stage.CONNECT, detail=f"cannot write to the console: {error}"
            )
            return channel_down(envelope.recipients, failed)
        return all_alike(envelope.recipients, Outcome.ACCEPTED, detail="written to the console")

    def close_idle(self) -> None:
        """Hold nothing, so let go of nothing."""

    def close(self) -> None:
        """Leave the stream to its owner."""

    def abort(self) -> None:
        """Never wait, so have nothing to break off."""


def _safe(name: str) -> str:
    return UNSAFE.sub("_", name.strip("<>")).lstrip(".")[:LONGEST_NAME] or "mail"


def _moved(draft: Path, target: Path) -> bool:
    """Give the finished file its name unless the name is taken: a reader never sees half a mail."""
    try:
        os.link(draft, target)
    except FileExistsError:
        return False
    except OSError:  # a file system without hard links
        if target.exists():
            return False
        draft.rename(target)
    return True


def _sync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
