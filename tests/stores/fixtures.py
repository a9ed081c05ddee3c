"""
The servers as fixtures: started once per session, when a test first asks for one.

A plugin of the session, so that all packages share one server of each kind.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from jobs.objectstore import ObjectStore
    from tests.stores.rclone import Rclone
    from tests.stores.swift import Swift


@pytest.fixture(scope="session")
def swift(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Swift]:
    """Return an OpenStack Swift."""
    from tests.stores.swift import Swift  # not before a test asks: boto3 takes long to import

    server = Swift(tmp_path_factory.mktemp("swift"))
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture(scope="session")
def rclone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rclone]:
    """Return an ``rclone serve s3``."""
    from tests.stores.rclone import Rclone

    server = Rclone(tmp_path_factory.mktemp("rclone"))
    try:
        server.start()
        yield server
    finally:
        server.close()


@pytest.fixture
def swift_store(swift: Swift) -> ObjectStore:
    return _open(swift.endpoint)


@pytest.fixture
def rclone_store(rclone: Rclone) -> ObjectStore:
    return _open(rclone.endpoint)


@pytest.fixture
def bucket() -> str:
    """Return a name that no other test has; the bucket is not made."""
    return f"b{uuid.uuid4().hex[:12]}"


def _open(endpoint: str) -> ObjectStore:
    from jobs.objectstore import open_store

    return open_store(endpoint)
