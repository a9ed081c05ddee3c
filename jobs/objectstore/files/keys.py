"""Which keys a file system can hold: those that are a path below the bucket as they stand."""

from __future__ import annotations

import os

from jobs.objectstore.errors import InvalidKeyError

NAME_BYTES = 255
KEY_BYTES = 4000  # a path may have 4,096


def split_key(key: str) -> list[str]:
    """
    Return the names of directories and file that a key stands for.

    Never brought into another form: ``a//b`` is no file's name, and deleting ``a/b`` in its
    place would delete somebody else's object. Raises ``InvalidKeyError``.
    """
    names = key.split("/")
    problem = _problem(key, names)
    if problem:
        raise InvalidKeyError(key, problem)
    return names


def key_order(key: str) -> bytes:
    """Return what keys are sorted by, as S3 sorts them: their bytes."""
    return os.fsencode(key)


def _problem(key: str, names: list[str]) -> str | None:
    if "\x00" in key:
        return "no file's name has a NUL"
    if "" in names:
        return "it begins or ends with a slash, or has two in a row"
    if "." in names or ".." in names:
        return "a part of it is . or .."
    try:
        sizes = [len(os.fsencode(name)) for name in names]
    except UnicodeEncodeError:
        return "it cannot be written in UTF-8"
    if max(sizes) > NAME_BYTES or sum(sizes) + len(sizes) > KEY_BYTES:
        return f"a part of it has more than {NAME_BYTES} bytes, or all of it more than {KEY_BYTES}"
    return None
