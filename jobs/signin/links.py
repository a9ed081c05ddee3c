"""Making links and spending them."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

from django.db.models import F
from django.urls import reverse
from django.utils.crypto import salted_hmac

from jobs.clock import ClockTime, Now, ago, from_now
from jobs.signin.models import SigninAttempt, SigninLink

if TYPE_CHECKING:
    from django.contrib.auth.models import User

LIFETIME_MS = 15 * 60 * 1000
TOKEN_BYTES = 32
# Uses of one link that are refused before it is dead, whatever its other state.
LINK_ATTEMPTS = 5
# Unknown tokens from one address within the window before it is asked to wait.
ADDRESS_ATTEMPTS = 20
ADDRESS_WINDOW_MS = LIFETIME_MS


def create_link(user: User) -> tuple[SigninLink, str]:
    """
    Return a new link for the user, and its path on the site.

    The path holds the token, which is nowhere else: it cannot be shown a second time.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    link = SigninLink.objects.create(
        user=user, digest=digest_of(token), expires_at=from_now(LIFETIME_MS)
    )
    return link, reverse("jobs_signin:link", args=[token])


def spend(token: str) -> User | None:
    """
    Return the user whom the token signs in, and spend it; None when it signs in nobody.

    One guarded UPDATE spends a link, so that of two uses at once only one signs in.
    """
    link = SigninLink.objects.filter(digest=digest_of(token)).select_related("user").first()
    if link is None:
        return None
    if link.user.is_active and _mark_used(link):
        return link.user
    _count_refusal(link)
    return None


def is_known(token: str) -> bool:
    """Say whether a link with this token was ever made and is still in the table."""
    return SigninLink.objects.filter(digest=digest_of(token)).exists()


def note_unknown(address: str) -> None:
    """Count one use of an unknown token from an address."""
    SigninAttempt.objects.create(address_digest=_address_digest(address))


def must_wait(address: str) -> bool:
    """Say whether an address has tried too many unknown tokens within the window."""
    tried = SigninAttempt.objects.filter(
        address_digest=_address_digest(address), at__gt=ago(ADDRESS_WINDOW_MS)
    )
    return tried[:ADDRESS_ATTEMPTS].count() >= ADDRESS_ATTEMPTS


def digest_of(token: str) -> str:
    """Return what the table holds of a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _mark_used(link: SigninLink) -> bool:
    open_link = SigninLink.objects.filter(
        pk=link.pk, used_at=None, expires_at__gt=Now(), attempts__lt=LINK_ATTEMPTS
    )
    return open_link.update(used_at=ClockTime()) == 1


def _count_refusal(link: SigninLink) -> None:
    # Not beyond the cap: a link that somebody hammers is not a row that grows.
    SigninLink.objects.filter(pk=link.pk, attempts__lt=LINK_ATTEMPTS).update(
        attempts=F("attempts") + 1
    )


def _address_digest(address: str) -> str:
    return salted_hmac("jobs.signin.address", address, algorithm="sha256").hexdigest()
