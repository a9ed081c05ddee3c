"""Which old mail may be deleted: the body first, its row later."""

from __future__ import annotations

from django.db.models import Q

from emails.models import EmailBody, EmailJob
from jobs.pruning import Along, declare_target

# A body that an operator keeps longer than its row goes with it.
BODY = Along(model=EmailBody, column="email")

declare_target(
    name="emails.bodies",
    label="Bodies of sent mail",
    model=EmailBody,
    age_column="email__sent_at",
    rows=Q(email__status="sent"),
    help="What was sent; who got it when stays in the mail's row.",
)
declare_target(
    name="emails.sent",
    label="Sent mail",
    model=EmailJob,
    age_column="sent_at",
    rows=Q(status="sent"),
    along=(BODY,),
    order=1,
)
declare_target(
    name="emails.dead",
    label="Dead-letter mail",
    model=EmailJob,
    age_column="created_at",
    rows=Q(status="failed", next_retry_at__isnull=True),
    along=(BODY,),
    order=1,
    help="By the time at which it was queued. What is deleted cannot be retried.",
)
declare_target(
    name="emails.cancelled",
    label="Cancelled mail",
    model=EmailJob,
    age_column="created_at",
    rows=Q(status="cancelled"),
    along=(BODY,),
    order=1,
    help="By the time at which it was queued.",
)
