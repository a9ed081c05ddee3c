"""
One-click unsubscription (RFC 8058): the headers of list mail, and what their address does.

The address carries the recipient and the list, sealed: it works as long as the secret key
lives, also after the mail itself has been pruned.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from django.urls import NoReverseMatch, reverse

from emails import sealing
from emails.addresses import Mailbox
from emails.errors import UnsubscribeAddressMissing, UnsubscribeNeedsOneRecipient
from emails.suppression import unsubscribe
from jobs.reads.links import site_url

PURPOSE = "unsubscribe"


@dataclass(frozen=True, kw_only=True)
class Subscription:
    """Whom an address unsubscribes, and from which list."""

    address: str  # the suppressed form
    list_name: str

    def end(self) -> int:
        """Unsubscribe; return how many waiting mails were cancelled by it. Twice is once."""
        return unsubscribe(self.address, list_name=self.list_name)


def unsubscribe_headers(recipients: tuple[Mailbox, ...], *, list_name: str) -> Mapping[str, str]:
    """
    Return the headers that make a mail list mail with one-click unsubscription.

    Raises ``UnsubscribeNeedsOneRecipient`` for more than one envelope recipient, since anyone
    of them could unsubscribe the others.
    """
    if len(recipients) != 1:
        raise UnsubscribeNeedsOneRecipient(len(recipients))
    token = token_of(Subscription(address=recipients[0].normalised, list_name=list_name))
    return {
        "List-Unsubscribe": f"<{_url(token)}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    }


def token_of(subscription: Subscription) -> str:
    """Return the part of the address that says who leaves which list, readable to nobody."""
    text = json.dumps([subscription.address, subscription.list_name])
    return sealing.seal(text, purpose=PURPOSE)


def subscription_of(token: str) -> Subscription | None:
    """Return what an address is about; None for one that was never given out."""
    text = sealing.unseal(token, purpose=PURPOSE)
    if text is None:
        return None
    address, list_name = json.loads(text)
    return Subscription(address=address, list_name=list_name)


def _url(token: str) -> str:
    try:
        path = reverse("emails:unsubscribe", args=[token])
    except NoReverseMatch:
        raise UnsubscribeAddressMissing from None
    return f"{site_url()}{path}"
