"""What tests of steps share: steps of the shop set, and work until nothing is due."""

from __future__ import annotations

SHOP = "tests.deletions.shop.steps"
SHIPPED = (
    "deletions.access.Deactivate",
    "deletions.access.RevokeSessions",
    "deletions.billing.CancelBilling",
    "deletions.buckets.step.DeleteBuckets",
    "emails.erasure_step.EraseMail",
    "deletions.local.DeleteLocalRows",
)


def with_steps(settings, *names: str) -> None:
    settings.USER_DELETION_STEPS = (*SHIPPED, *(f"{SHOP}.{name}" for name in names))


def exhaust(work, deletion) -> None:
    """Work until nothing is due; bounded by the cap and a little more."""
    for _ in range(8):
        if not work():
            break
        deletion.refresh_from_db()
