"""The client of boto3, made for an endpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobs.errors import MissingPackageError
from jobs.objectstore.endpoints import S3Endpoint
from jobs.objectstore.guard import check_request

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# What a signature names where the server does not care.
ANY_REGION = "us-east-1"


def make_client(endpoint: S3Endpoint) -> S3Client:
    """Return a client, which threads may share. Raises ``MissingPackageError``."""
    try:
        import boto3  # an extra: only who has such a store needs it
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
    client: S3Client = boto3.session.Session().client(
        "s3",
        endpoint_url=endpoint.url,
        region_name=region,
        config=config,
        **_credentials(endpoint),
    )
    # After a request is written and signed, which of a thousand keys takes its time.
    client.meta.events.register("before-send.s3", check_request)
    return client


def _credentials(endpoint: S3Endpoint) -> dict[str, Any]:
    if not endpoint.key:
        return {}
    return {"aws_access_key_id": endpoint.key, "aws_secret_access_key": endpoint.secret}
