"""Removing files, and the directories that are empty without them."""

from __future__ import annotations

import errno
import itertools
import os
from collections.abc import Sequence

from jobs.objectstore.errors import InvalidKeyError
from jobs.objectstore.files.faults import failed
from jobs.objectstore.files.keys import split_key
from jobs.objectstore.files.tree import NOT_THERE, opened, remove_empty
from jobs.objectstore.guard import check_request
from jobs.objectstore.values import BatchResult, FailedKey

# A directory has the name: there is no file, so it is gone.
IS_GONE = (*NOT_THERE, errno.EISDIR)


def delete_keys(root: str, bucket: str, keys: Sequence[str]) -> BatchResult:
    """Remove files by their keys; say of each what became of it."""
    paths, errors = _paths(keys)
    deleted: list[str] = []
    # A page is in order: files of one directory come together.
    for folder, group in itertools.groupby(paths, key=lambda path: path[:-1]):
        names = [path[-1] for path in group]
        refused = _unlink_in(root, [bucket, *folder], names)
        for name in names:
            key = "/".join([*folder, name])
            error = refused.get(name)
            if error is None:
                deleted.append(key)
            else:
                errors.append(failed(key, error))
    return BatchResult(deleted=tuple(deleted), errors=tuple(errors))


def delete_path(root: str, place: Sequence[str], names: Sequence[str]) -> None:
    """Remove one file below ``place``, which stays. Raises ``OSError``."""
    refused = _unlink_in(root, [*place, *names[:-1]], [names[-1]], keep=len(place))
    for error in refused.values():
        raise error


def _paths(keys: Sequence[str]) -> tuple[list[list[str]], list[FailedKey]]:
    paths, errors = [], []
    for key in keys:
        try:
            paths.append(split_key(key))
        except InvalidKeyError as error:
            errors.append(FailedKey(key=key, code=error.code, message=error.message))
    return paths, errors


def _unlink_in(
    root: str, folder: Sequence[str], names: Sequence[str], *, keep: int = 1
) -> dict[str, OSError]:
    """Remove files of one directory; return what stood against it, by name."""
    refused: dict[str, OSError] = {}
    try:
        with opened(root, folder) as directory:
            for name in names:
                check_request()
                try:
                    os.unlink(name, dir_fd=directory)
                except OSError as error:
                    if error.errno not in IS_GONE:
                        refused[name] = error
    except OSError as error:
        return {} if error.errno in IS_GONE else dict.fromkeys(names, error)
    remove_empty(root, folder, keep=keep)
    return refused
