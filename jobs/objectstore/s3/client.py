"""The client of boto3, made for an endpoint."""

from __future__ import annotations

import contextlib
import datetime as dt
import threading
from functools import cache
from typing import TYPE_CHECKING, Any

from jobs.errors import MissingPackageError
from jobs.objectstore.endpoints import S3Endpoint
from jobs.objectstore.guard import check_request

if TYPE_CHECKING:
    import boto3
    from mypy_boto3_s3 import S3Client

# What a signature names where the server does not care.
ANY_REGION = "us-east-1"
# A session makes one client at a time.
_making = threading.Lock()


def make_client(endpoint: S3Endpoint) -> S3Client:
    """Return a client, which threads may share. Raises ``MissingPackageError``."""
    try:
        import boto3  # noqa: F401 (an extra: only who has such a store needs it)
        from botocore.config import Config
    except ImportError:
        raise MissingPackageError("an s3:// object store", "boto3", "engineroom[s3]") from None
    config = Config(
        # The defaults, 60 s five times over, can outlive a lease.
        connect_timeout=5,
        read_timeout=60,
        retries={"mode": "standard", "max_attempts": 2},
        signature_version="s3v4",
        # Newer checksums only where they are asked for: many servers refuse them, and a signed
        # upload would demand one of the browser.
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "auto" if endpoint.is_aws else "path"},
    )
    region = endpoint.region or (None if endpoint.is_aws else ANY_REGION)
    with _making:
        client: S3Client = _session().client(
            "s3",
            endpoint_url=endpoint.url,
            region_name=region,
            config=config,
            **_credentials(endpoint),
        )
    # After a request is written and signed, which of a thousand keys takes its time.
    client.meta.events.register("before-send.s3", check_request)
    return client


def read_time(text: Any) -> dt.datetime:
    """
    Return an instant of an answer.

    Half of the time that a page of a thousand keys takes goes into the times in it, by the
    client's own parser, which tries one form after the other.
    """
    from botocore.utils import parse_timestamp

    if isinstance(text, str) and len(text) > 10 and text[10] == "T":
        with contextlib.suppress(ValueError):
            found = dt.datetime.fromisoformat(text)
            return found if found.tzinfo else found.replace(tzinfo=dt.UTC)
    return parse_timestamp(text)


@cache
def _session() -> boto3.session.Session:
    """Return the one that all clients come from: what it reads of files takes 0.2 s."""
    import boto3
    import botocore.session

    session = botocore.session.get_session()
    parsers: Any = session.get_component("response_parser_factory")
    parsers.set_parser_defaults(timestamp_parser=read_time)
    return boto3.session.Session(botocore_session=session)


def _credentials(endpoint: S3Endpoint) -> dict[str, Any]:
    if not endpoint.key:
        return {}
    return {"aws_access_key_id": endpoint.key, "aws_secret_access_key": endpoint.secret}
