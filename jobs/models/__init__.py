"""The engine's tables."""

from jobs.models.activity import ActivityLog
from jobs.models.alert import Alert
from jobs.models.audit import AuditLog
from jobs.models.run import JobRun
from jobs.models.state import JobState
from jobs.models.worker import Worker

__all__ = ["ActivityLog", "Alert", "AuditLog", "JobRun", "JobState", "Worker"]
