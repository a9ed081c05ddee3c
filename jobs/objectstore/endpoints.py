"""The URLs of stores, and what of them may be seen."""

from __future__ import annotations

from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from jobs.objectstore.errors import EndpointError

ALLOWED_ENDPOINTS = "file:///directory, or s3://KEY:SECRET@host[:port]/?region=…&secure=on|off"
AWS_DOMAIN = ".amazonaws.com"


@dataclass(frozen=True, kw_only=True)
class FileEndpoint:
    """A directory, whose directories are the buckets."""

    directory: str

    @property
    def public(self) -> str:
        return f"file://{quote(self.directory)}"


@dataclass(frozen=True, kw_only=True)
class S3Endpoint:
    """A server that speaks S3; without a host it is that of AWS."""

    host: str = ""  # with the port, if it has one
    region: str = ""
    secure: bool = True
    key: str = field(default="", repr=False)  # without one, boto3 looks where it always does
    secret: str = field(default="", repr=False)

    @property
    def url(self) -> str | None:
        """The address of the server; None leaves it to boto3."""
        if not self.host:
            return None
        return f"{'https' if self.secure else 'http'}://{self.host}"

    @property
    def is_aws(self) -> bool:
        return not self.host or self.host.partition(":")[0].endswith(AWS_DOMAIN)

    @property
    def public(self) -> str:
        query = {"region": self.region} if self.region else {}
        if not self.secure:
            query["secure"] = "off"
        return f"s3://{self.host}/{'?' if query else ''}{urlencode(query)}"


Endpoint = FileEndpoint | S3Endpoint


def parse_endpoint(url: str) -> Endpoint:
    """Read the URL of a store. Raises ``EndpointError``, which shows no secret."""
    try:
        parts = urlsplit(url)
        port_fits = parts.port is None or 0 < parts.port < 65536
    except ValueError:
        raise EndpointError("…", f"a URL is needed: {ALLOWED_ENDPOINTS}") from None
    if not port_fits:
        raise EndpointError(_masked(parts), "the port is from 1 to 65535")
    match parts.scheme:
        case "file":
            return _file(parts)
        case "s3":
            return _s3(parts)
    raise EndpointError(_masked(parts), f"it is none of {ALLOWED_ENDPOINTS}")


def public_endpoint(url: str) -> str:
    """Return the URL without key and secret, always in the same spelling."""
    return parse_endpoint(url).public


def _file(parts: SplitResult) -> FileEndpoint:
    directory = unquote(parts.path, errors="surrogateescape")
    if parts.netloc or parts.query or parts.fragment:
        raise EndpointError(_masked(parts), "file:/// is followed by nothing but a directory")
    if not directory.strip("/") or not directory.startswith("/") or "\x00" in directory:
        raise EndpointError(_masked(parts), "the directory begins with / and is not / itself")
    return FileEndpoint(directory=directory.rstrip("/"))


def _s3(parts: SplitResult) -> S3Endpoint:
    if parts.path not in ("", "/") or parts.fragment:
        raise EndpointError(_masked(parts), "it names a server, not a bucket or a key in it")
    if parts.netloc and not parts.hostname:
        raise EndpointError(_masked(parts), "it names no host")
    if bool(parts.username) != bool(parts.password):
        raise EndpointError(_masked(parts), "a key has its password after a colon, KEY:…@")
    query = _query(parts)
    return S3Endpoint(
        host=parts.netloc.rpartition("@")[2].lower(),
        region=query.get("region", ""),
        secure=_is_secure(parts, query.get("secure", "on")),
        key=unquote(parts.username or ""),
        secret=unquote(parts.password or ""),
    )


def _query(parts: SplitResult) -> dict[str, str]:
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    unknown = [name for name, _ in pairs if name not in ("region", "secure")]
    if unknown or len(dict(pairs)) < len(pairs):
        raise EndpointError(_masked(parts), "after ? come region and secure only, once each")
    return dict(pairs)


def _is_secure(parts: SplitResult, word: str) -> bool:
    if word not in ("on", "off"):
        raise EndpointError(_masked(parts), "secure is on or off")
    return word == "on"


def _masked(parts: SplitResult) -> str:
    if parts.scheme == "file" and "@" not in parts.netloc:
        return f"file://{parts.netloc}{parts.path}{'?…' if parts.query or parts.fragment else ''}"
    # Nothing of the user part, and nothing after the host: a secret with a / or a ? in it,
    # not escaped, has ended up there.
    _, at, host = parts.netloc.rpartition("@")
    return f"{parts.scheme or '…'}://…{at}{host if at else ''}"
