"""One queued mail, and its bytes."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Lower

from jobs.queues import QueueRow, queue_indexes


class EmailStatus(models.TextChoices):
    """Where a mail is."""

    PENDING = "pending", "pending"
    PROCESSING = "processing", "processing"
    SENT = "sent", "sent"  # every recipient is final, at least one was accepted
    FAILED = "failed", "failed"  # retried at next_retry_at; without one, a dead letter
    CANCELLED = "cancelled", "cancelled"  # by an operator, or no longer wanted


class EmailOutcome(models.TextChoices):
    """What the status does not say."""

    NONE = "", "—"
    PARTIAL = "partial", "partial"  # some recipients were refused or suppressed
    EXPIRED = "expired", "expired"
    SUPPRESSED = "suppressed", "suppressed"


class RecipientState(models.TextChoices):
    """Where one recipient of a mail is."""

    PENDING = "pending", "pending"
    ACCEPTED = "accepted", "accepted"  # never gets a second RCPT
    REFUSED = "refused", "refused"  # for good
    SUPPRESSED = "suppressed", "suppressed"  # not tried: on the suppression list


def first_address() -> Lower:
    """Return the first recipient in lower case, as the index of waiting list mail has it."""
    return Lower(KeyTextTransform("address", KeyTransform("0", "recipients")))


class EmailJob(QueueRow):
    """A mail in the queue. ``failed`` without ``next_retry_at`` is a dead letter."""

    # The bytes were on their way to the server and the row still held: a crash now leaves
    # in doubt whether the server took them.
    CLAIM_COLUMNS: ClassVar[tuple[str, ...]] = (*QueueRow.CLAIM_COLUMNS, "sending_since")

    id = models.BigAutoField(primary_key=True)
    status = models.CharField(
        max_length=16, choices=EmailStatus.choices, db_default=EmailStatus.PENDING.value
    )
    max_attempts = models.SmallIntegerField(db_default=5)
    sending_since = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    possible_duplicate = models.BooleanField(db_default=False)
    outcome = models.CharField(
        max_length=16, choices=EmailOutcome.choices, blank=True, db_default=""
    )
    last_code = models.SmallIntegerField("last reply code", null=True, blank=True)
    # [{"address", "domain", "state", "code", "enhanced", "text", "at"}], in envelope order.
    recipients = models.JSONField()
    mail_from = models.TextField("envelope sender", blank=True)
    message_id = models.TextField("Message-ID")
    subject = models.TextField(blank=True, db_default="")
    to_display = models.TextField("to", blank=True, db_default="")
    size = models.IntegerField("size in bytes")
    kind = models.CharField(max_length=100, blank=True, db_default="")
    # List mail has a List-Unsubscribe header; the name is that of the list, where it is known.
    is_list_mail = models.BooleanField(db_default=False)
    list_name = models.CharField("list", max_length=100, blank=True, db_default="")
    user_id = models.CharField(max_length=200, blank=True, db_default="")
    priority = models.SmallIntegerField(db_default=0)
    expires_at = models.DateTimeField(null=True, blank=True)
    idempotency_key = models.CharField(max_length=200, null=True, blank=True)  # noqa: DJ001 (unique)

    class Meta:
        db_table = "email_jobs"
        verbose_name = "mail"
        ordering = ("-id",)
        permissions = (
            ("retry_emailjob", "Can retry mail"),
            ("cancel_emailjob", "Can cancel mail"),
            ("resend_emailjob", "Can resend copies of mail"),
        )
        constraints = (
            *QueueRow.Meta.constraints,
            models.CheckConstraint(
                name="emailjob_sending_while_processing",
                condition=Q(sending_since__isnull=True) | Q(status="processing"),
            ),
            models.CheckConstraint(
                name="emailjob_sent_has_time",
                condition=Q(status="sent", sent_at__isnull=False)
                | (~Q(status="sent") & Q(sent_at__isnull=True)),
            ),
            models.CheckConstraint(
                name="emailjob_max_attempts_range", condition=Q(max_attempts__range=(1, 50))
            ),
            models.UniqueConstraint(
                fields=("idempotency_key",),
                name="email_jobs_idempotency",
                condition=Q(idempotency_key__isnull=False),
            ),
        )
        indexes = (
            *queue_indexes("email_jobs", order=("-priority", "id")),
            # Possible duplicates and cancelled mail: few rows that operators look for.
            models.Index(
                fields=("-id",), name="email_jobs_doubt", condition=Q(possible_duplicate=True)
            ),
            models.Index(
                fields=("-id",), name="email_jobs_cancelled", condition=Q(status="cancelled")
            ),
            # An unsubscription looks for what still waits for that address.
            models.Index(
                first_address(),
                name="email_jobs_list_waiting",
                condition=Q(is_list_mail=True, status__in=("pending", "failed")),
            ),
            # Erasure of a user's mail; a look-up by Message-ID; pruning by age.
            models.Index(fields=("user_id",), name="email_jobs_by_user", condition=~Q(user_id="")),
            models.Index(fields=("message_id",), name="email_jobs_by_message_id"),
            models.Index(fields=("sent_at",), name="email_jobs_by_age", condition=Q(status="sent")),
            models.Index(
                fields=("created_at",),
                name="email_jobs_dead_by_age",
                condition=Q(status="failed", next_retry_at__isnull=True),
            ),
            models.Index(
                fields=("created_at",),
                name="email_jobs_cancelled_by_age",
                condition=Q(status="cancelled"),
            ),
        )

    @property
    def is_dead_letter(self) -> bool:
        """Say whether the mail will never be retried by itself."""
        return self.status == EmailStatus.FAILED and self.next_retry_at is None


class EmailBody(models.Model):
    """The finished bytes of a mail, apart so that they can be pruned before the row."""

    email = models.OneToOneField(
        EmailJob, on_delete=models.CASCADE, primary_key=True, related_name="body"
    )
    raw = models.BinaryField()

    class Meta:
        db_table = "email_bodies"
        verbose_name = "mail body"
        verbose_name_plural = "mail bodies"
        permissions = (("view_body", "Can see the bodies of mail"),)

    def __str__(self) -> str:
        return f"body of mail {self.pk}"
