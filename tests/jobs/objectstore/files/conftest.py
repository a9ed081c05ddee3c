"""What tests of the store on a file system share: a store, its directory, and one outside of it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from jobs.objectstore import ObjectStore, open_store


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "objects"


@pytest.fixture
def store(root: Path) -> ObjectStore:
    store = open_store(root.as_uri())
    store.create_bucket("b")
    return store


def write(store: ObjectStore, key: str, content: bytes = b"content") -> None:
    store.write("b", key, io.BytesIO(content))


def names_in(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())
