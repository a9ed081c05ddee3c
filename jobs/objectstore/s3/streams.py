"""Bytes on their way to and from a server."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from jobs.objectstore.errors import ObjectTooBigError
from jobs.objectstore.port import Source
from jobs.objectstore.s3.faults import told

if TYPE_CHECKING:
    from botocore.response import StreamingBody


CHUNK_BYTES = 256 * 1024


class Counted:
    """A source that counts what is read from it, and ends the upload when it is too much."""

    def __init__(self, source: Source, *, key: str, limit: int | None) -> None:
        self.size = 0
        self._source, self._key, self._limit = source, key, limit

    def read(self, size: int = -1) -> bytes:
        """Return so many bytes, and fewer at the end only: boto3 takes less for the end."""
        if size < 0:
            return b"".join(iter(lambda: self._read(CHUNK_BYTES), b""))
        pieces = []
        while size > 0 and (piece := self._read(size)):
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def _read(self, size: int) -> bytes:
        chunk = self._source.read(size)
        self.size += len(chunk)
        if self._limit is not None and self.size > self._limit:
            raise ObjectTooBigError(self._key, self._limit)
        return chunk


class Body(io.RawIOBase):
    """The content of an object; a connection that breaks is a ``StoreError``."""

    def __init__(self, body: StreamingBody, *, doing: str, bucket: str) -> None:
        self._body, self._doing, self._bucket = body, doing, bucket

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with told(self._doing, bucket=self._bucket):
            chunk = self._body.read(len(buffer))
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self) -> None:
        self._body.close()
        super().close()
