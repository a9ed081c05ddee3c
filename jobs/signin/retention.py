"""Sign-in links that sign in nobody any more, and what was tried with unknown ones."""

from __future__ import annotations

import datetime as dt

from django.db.models import Q

from jobs.pruning import declare_expired
from jobs.signin.links import ADDRESS_WINDOW_MS
from jobs.signin.models import SigninAttempt, SigninLink

declare_expired(
    name="signin.links_expired",
    label="Expired sign-in links",
    model=SigninLink,
    age_column="expires_at",
)
declare_expired(
    name="signin.links_used",
    label="Used sign-in links",
    model=SigninLink,
    age_column="used_at",
    rows=Q(used_at__isnull=False),
)
declare_expired(
    name="signin.attempts",
    label="Failed sign-in attempts",
    model=SigninAttempt,
    age_column="at",
    after=lambda: dt.timedelta(milliseconds=ADDRESS_WINDOW_MS),
)
