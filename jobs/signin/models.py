"""The links, and what was tried with links that do not exist."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from jobs.clock import ClockDefault


class SigninLink(models.Model):
    """One link. ``used_at`` is written by the statement that spends it."""

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    # SHA-256 of the token, in hexadecimal: a look-up by digest takes the same time whether
    # or not a guess begins with the right characters.
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(db_default=ClockDefault(), editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)
    # Refused uses of this link: after its first use, after its time, by an inactive user.
    attempts = models.SmallIntegerField(db_default=0)

    class Meta:
        db_table = "signin_links"
        verbose_name = "sign-in link"
        indexes = (
            models.Index(fields=("expires_at",), name="signin_links_by_expiry"),
            models.Index(
                fields=("used_at",), name="signin_links_used", condition=Q(used_at__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return f"sign-in link {self.pk}"


class SigninAttempt(models.Model):
    """One use of a token that no link has, kept to limit such attempts by address."""

    id = models.BigAutoField(primary_key=True)
    at = models.DateTimeField(db_default=ClockDefault(), editable=False)
    # A keyed digest: whom an address belongs to is nobody's business here.
    address_digest = models.CharField(max_length=64)

    class Meta:
        db_table = "signin_attempts"
        verbose_name = "failed sign-in attempt"
        indexes = (
            models.Index(fields=("address_digest", "at"), name="signin_attempts_by_address"),
            models.Index(fields=("at",), name="signin_attempts_by_age"),
        )

    def __str__(self) -> str:
        return f"failed sign-in attempt {self.pk}"
