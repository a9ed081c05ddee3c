"""The outbox."""

from __future__ import annotations

from django.contrib import admin

from jobs.admin.base import BigTableAdmin
from realtime.models import OutboxEvent


@admin.register(OutboxEvent)
class OutboxEventAdmin(BigTableAdmin):
    pass
