"""
The file of finished deletions beside the backups, ``deletions.jsonl``.

A restored backup does not hold the deletions that were done since it was made; this file
does. A line names no more of a user than the key.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from deletions import conf
from deletions.errors import ProofError, ProofFileError
from deletions.models import UserDeletion
from jobs.schedule import database_now


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A deletion that is done."""

    deletion_id: int
    user_id: str
    requested_at: dt.datetime
    deleted_at: dt.datetime

    @classmethod
    def of(cls, deletion: UserDeletion) -> Self:
        """Return the proof of a deletion that is done now, by the database's clock."""
        return cls(
            deletion_id=deletion.pk,
            user_id=deletion.user_id,
            requested_at=deletion.created_at,
            deleted_at=database_now(),
        )

    @classmethod
    def read(cls, line: str) -> Self:
        """Read a line; raises ValueError, KeyError or TypeError for what is none."""
        found = json.loads(line)
        deleted_at = dt.datetime.fromisoformat(found["deleted_at"])
        requested_at = dt.datetime.fromisoformat(found["requested_at"])
        if deleted_at.tzinfo is None or not str(found["user"]):
            raise ValueError(line)
        return cls(
            deletion_id=int(found["deletion"]),
            user_id=str(found["user"]),
            requested_at=requested_at,
            deleted_at=deleted_at,
        )

    @property
    def line(self) -> str:
        """The proof as a line of the file."""
        return json.dumps(
            {
                "deletion": self.deletion_id,
                "user": self.user_id,
                "requested_at": self.requested_at.astimezone(dt.UTC).isoformat(),
                "deleted_at": self.deleted_at.astimezone(dt.UTC).isoformat(),
            }
        )


@dataclass(frozen=True, kw_only=True)
class ProofFile:
    """What a file holds: the newest proof of each user, and lines that are none."""

    proofs: tuple[Proof, ...]
    unreadable: tuple[int, ...]  # their numbers, from 1


def append_proof(proof: Proof) -> None:
    """Append a line and bring it to the disk. Raises ``ProofError``."""
    path = conf.proof_path()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        is_new = not path.exists()
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(handle, "ab", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _write_line(file.fileno(), proof.line)
        if is_new:
            _sync_directory(path.parent)
    except OSError as error:
        raise ProofError(path, error.strerror or str(error)) from error


def read_proofs(path: Path) -> ProofFile:
    """Read a file, in the order of the deletions. Raises ``ProofFileError``."""
    found: dict[str, Proof] = {}
    unreadable = []
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    proof = Proof.read(line)
                except (ValueError, KeyError, TypeError):
                    unreadable.append(number)
                    continue
                found.pop(proof.user_id, None)
                found[proof.user_id] = proof
    except OSError as error:
        raise ProofFileError(path, error.strerror or str(error)) from error
    return ProofFile(proofs=tuple(found.values()), unreadable=tuple(unreadable))


def _write_line(file: int, line: str) -> None:
    size = os.fstat(file).st_size
    # After a line that a crash has cut, on a new one.
    head = b"\n" if size and os.pread(file, 1, size - 1) != b"\n" else b""
    data = head + line.encode() + b"\n"
    while data:
        data = data[os.write(file, data) :]
    os.fsync(file)


def _sync_directory(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
