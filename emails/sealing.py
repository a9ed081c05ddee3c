"""
Texts that travel in public addresses: unreadable, and refused when they were changed.

Deterministic authenticated encryption in the way of RFC 5297 (SIV), on HMAC-SHA-256 and
SHAKE-256 of the standard library: the nonce is the text's own code, so the same text is the
same token and needs no row that would have to be kept. Keys come from ``SECRET_KEY``, those
of ``SECRET_KEY_FALLBACKS`` still open what they have sealed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from django.conf import settings

CODE_BYTES = 16


def seal(text: str, *, purpose: str) -> str:
    """Return a token for the text, of URL-safe characters, that only ``unseal`` can read."""
    key = _key(settings.SECRET_KEY, purpose)
    plain = text.encode()
    code = _code(key, plain)
    return _token(code + _mixed(key, code, plain))


def unseal(token: str, *, purpose: str) -> str | None:
    """Return the text of a token; None for one that was changed or made for something else."""
    try:
        raw = _opened_bytes(token)
    except (binascii.Error, ValueError):
        return None
    code, mixed = raw[:CODE_BYTES], raw[CODE_BYTES:]
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        key = _key(secret, purpose)
        plain = _mixed(key, code, mixed)
        if hmac.compare_digest(code, _code(key, plain)):
            return plain.decode()
    return None


def _token(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _opened_bytes(token: str) -> bytes:
    return base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)


def _key(secret: str | bytes, purpose: str) -> bytes:
    material = secret.encode() if isinstance(secret, str) else secret
    return hmac.digest(material, f"emails.sealing:{purpose}".encode(), "sha256")


def _code(key: bytes, plain: bytes) -> bytes:
    return hmac.digest(key, b"code:" + plain, "sha256")[:CODE_BYTES]


def _mixed(key: bytes, code: bytes, data: bytes) -> bytes:
    stream = hashlib.shake_256(b"stream:" + key + code).digest(len(data))
    return bytes(one ^ other for one, other in zip(data, stream, strict=True))
