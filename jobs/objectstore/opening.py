"""From an endpoint to its store."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from jobs.objectstore.endpoints import Endpoint, S3Endpoint, parse_endpoint
from jobs.objectstore.port import ObjectStore

DEFAULT_DIRECTORY = "var/objects"


def open_store(endpoint: str | None = None) -> ObjectStore:
    """
    Return the store of an endpoint; of the one in ``OBJECT_STORE_URL`` without one.

    An endpoint that differs from the configured one by nothing but the missing key and
    secret is the configured one: what is stored in a row has none. Opening a store asks it
    nothing. Raises ``EndpointError``, and ``MissingPackageError`` without boto3.
    """
    configured = _configured()
    if not endpoint:
        return _open(configured)
    asked = parse_endpoint(endpoint)
    return _open(configured if asked == _without_secrets(configured) else asked)


def stored_endpoint(endpoint: str | None = None) -> str:
    """Return the form of an endpoint that may be stored: whole, in one spelling, no secrets."""
    return (parse_endpoint(endpoint) if endpoint else _configured()).public


def _configured() -> Endpoint:
    from jobs.conf import OBJECT_STORE_URL  # which reads endpoints with this package

    return parse_endpoint(OBJECT_STORE_URL.get() or Path(DEFAULT_DIRECTORY).absolute().as_uri())


def _without_secrets(endpoint: Endpoint) -> Endpoint:
    return parse_endpoint(endpoint.public)


@lru_cache(maxsize=16)
def _open(endpoint: Endpoint) -> ObjectStore:
    # Kept: a client of boto3 takes long to make, and holds the connections.
    if isinstance(endpoint, S3Endpoint):
        from jobs.objectstore.s3.client import make_client

        client = make_client(endpoint)  # which says so if boto3 is missing
        from jobs.objectstore.s3.store import S3Store

        return S3Store(client, endpoint=endpoint.public, is_aws=endpoint.is_aws)
    from jobs.objectstore.files.store import FileStore

    return FileStore(endpoint.directory)
