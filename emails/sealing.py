"""
Texts that travel in public addresses: unreadable, and refused when they were changed.

AES-SIV (RFC 5297), which is deterministic: the same text is the same token, and needs no row
that would have to be kept. Keys come from ``SECRET_KEY``; those of ``SECRET_KEY_FALLBACKS``
still open what they have sealed.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV
from django.conf import settings


def seal(text: str, *, purpose: str) -> str:
    """Return a token for the text, of URL-safe characters, that only ``unseal`` can read."""
    sealed = _cipher(settings.SECRET_KEY, purpose).encrypt(text.encode(), None)
    return base64.urlsafe_b64encode(sealed).rstrip(b"=").decode()


def unseal(token: str, *, purpose: str) -> str | None:
    """Return the text of a token; None for one that was changed or made for something else."""
    try:
        sealed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        try:
            return _cipher(secret, purpose).decrypt(sealed, None).decode()
        except (InvalidTag, ValueError):
            continue
    return None


def _cipher(secret: str | bytes, purpose: str) -> AESSIV:
    material = secret.encode() if isinstance(secret, str) else secret
    key = hmac.digest(material, f"emails.sealing:{purpose}".encode(), hashlib.sha512)
    return AESSIV(key)
