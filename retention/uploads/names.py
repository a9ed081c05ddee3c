"""Names that come from browsers, as parts of keys."""

from __future__ import annotations

import re
import unicodedata

NAMELESS = "file"
NAME_BYTES = 200
_SEPARATORS = re.compile(r"[/\\]")


def safe_name(filename: str) -> str:
    """
    Return what is left of a file's name as one part of a key that every store can hold.

    The last part of a path, without control characters and lone surrogates, cut to 200 bytes of
    UTF-8 with its ending kept; never empty, ``.`` or ``..``. A pure function, and doing it twice
    is doing it once.
    """
    name = _SEPARATORS.split(filename)[-1]
    kept = (mark for mark in name if unicodedata.category(mark)[0] != "C")
    name = "".join(kept).strip(" .")
    return _cut(name) or NAMELESS


def _cut(name: str) -> str:
    if len(name.encode()) <= NAME_BYTES:
        return name
    stem, dot, ending = name.rpartition(".")
    if not dot or len(ending.encode()) > NAME_BYTES // 4:
        stem, dot, ending = name, "", ""
    room = NAME_BYTES - len(f"{dot}{ending}".encode())
    return f"{stem.encode()[:room].decode(errors='ignore')}{dot}{ending}".strip(" .")
