"""
The servers as fixtures: started once per session, when a test first asks for one.

A test package takes them in by ``from tests.stores.fixtures import *`` in its conftest.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from jobs.objectstore import ObjectStore, open_store
from tests.stores.rclone import Rclone
from tests.stores.swift import Swift

__all__ = ["bucket", "rclone", "rclone_store", "swift", "swift_store"]


@pytest.fixture(scope="session")
def swift(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swift]:
    """Return an OpenStack Swift."""
    server = Swift(tmp_path_factory.mktemp("swift"))
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def rclone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rclone]:
    """Return an ``rclone serve s3``."""
    server = Rclone(tmp_path_factory.mktemp("rclone"))
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture
def swift_store(swift: Swift) -> ObjectStore:
    return open_store(swift.endpoint)


@pytest.fixture
def rclone_store(rclone: Rclone) -> ObjectStore:
    return open_store(rclone.endpoint)


@pytest.fixture
def bucket() -> str:
    """Return a name that no other test has; the bucket is not made."""
    return f"b{uuid.uuid4().hex[:12]}"
