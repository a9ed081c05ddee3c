"""
The external step that cancels a subscription, by one signed request.

The request is a POST of JSON with the headers of Standard Webhooks (``webhook-id``,
``webhook-timestamp``, ``webhook-signature``) and an ``Idempotency-Key``, which is the same
for every try. Any 2xx, 404 and 410 is done, and so is an answer that says that it had been
cancelled before.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time

from deletions import conf
from deletions.errors import BillingRefusedError, BillingSecretError, UnreachableError
from deletions.models import BillingAudit, BillingOutcome, Half
from deletions.posting import Posted, post
from deletions.steps import Answer, Skipped, StepCall
from jobs.failure import storable
from jobs.redaction import mask_secrets

ANSWER_KEPT = 300
GONE = (404, 410)
# How services say it, in words or as a code, with an answer of 4xx.
ALREADY = re.compile(r"already[\s_-]+(?:been[\s_-]+)?cancell?ed|resource_missing", re.IGNORECASE)


class CancelBilling:
    """Asks the billing service to cancel whatever the customer has."""

    name = "billing"
    half = Half.EXTERNAL.value
    left_behind = "the subscription may still be charged"

    def run(self, call: StepCall) -> Answer:
        """Send one request; skipped without ``BILLING_URL``."""
        url = conf.BILLING_URL.get()
        if not url:
            return Skipped(reason="BILLING_URL is not set")
        if not conf.BILLING_SECRET.get():
            raise BillingSecretError
        call.say(_cancel(url, call))
        return None


def signature(secret: str, *, key: str, timestamp: str, body: bytes) -> str:
    """Return the ``webhook-signature`` of a body, by the rules of Standard Webhooks."""
    if secret.startswith("whsec_"):
        material = base64.b64decode(secret.removeprefix("whsec_"))
    else:
        material = secret.encode()
    signed = b".".join((key.encode(), timestamp.encode(), body))
    digest = hmac.new(material, signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


def outcome_of(posted: Posted) -> BillingOutcome:
    """Return what an answer means. A pure function."""
    if 200 <= posted.status < 300:
        return BillingOutcome.CANCELLED
    if posted.status in GONE:
        return BillingOutcome.GONE
    if 400 <= posted.status < 500 and ALREADY.search(posted.text):
        return BillingOutcome.GONE
    return BillingOutcome.FAILED


def _cancel(url: str, call: StepCall) -> str:
    # Written before it is sent: a call whose answer was never seen is a call.
    entry = BillingAudit.objects.create(
        deletion_id=call.deletion_id,
        url=mask_secrets(url)[:500],
        idempotency_key=call.idempotency_key,
    )
    began = time.monotonic()
    try:
        posted = post(url, *_signed(call))
    except UnreachableError as error:
        _note(entry, began, outcome=BillingOutcome.FAILED, answer=str(error)[:ANSWER_KEPT])
        raise
    outcome = outcome_of(posted)
    failed = outcome is BillingOutcome.FAILED
    answer = storable(mask_secrets(" ".join(posted.text.split())))[:ANSWER_KEPT] if failed else ""
    _note(entry, began, outcome=outcome, answer=answer, status_code=posted.status)
    if failed:
        raise BillingRefusedError(posted.status, answer)
    return f"answered {posted.status}: {outcome.label}"


def _note(entry: BillingAudit, began: float, **columns: object) -> None:
    milliseconds = int((time.monotonic() - began) * 1000)
    BillingAudit.objects.filter(pk=entry.pk).update(milliseconds=milliseconds, **columns)


def _signed(call: StepCall) -> tuple[bytes, dict[str, str]]:
    body = json.dumps(
        {
            "type": "customer.cancel",
            "customer": call.snapshot.get("billing_customer", call.user_id),
            "idempotency_key": call.idempotency_key,
        }
    ).encode()
    timestamp = str(int(time.time()))
    secret = conf.BILLING_SECRET.get()
    return body, {
        "Content-Type": "application/json",
        "User-Agent": "engineroom",
        "Idempotency-Key": call.idempotency_key,
        "webhook-id": call.idempotency_key,
        "webhook-timestamp": timestamp,
        "webhook-signature": signature(
            secret, key=call.idempotency_key, timestamp=timestamp, body=body
        ),
    }
