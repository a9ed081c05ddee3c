"""
The engine's pages in the Django admin.

They register themselves on ``admin.site``: a project that installs the apps has them.
"""

from jobs.admin.activity import ActivityLogAdmin
from jobs.admin.alerts import AlertAdmin
from jobs.admin.audit import AuditLogAdmin
from jobs.admin.jobs import JobStateAdmin
from jobs.admin.runs import JobRunAdmin
from jobs.admin.workers import WorkerAdmin

__all__ = [
    "ActivityLogAdmin",
    "AlertAdmin",
    "AuditLogAdmin",
    "JobRunAdmin",
    "JobStateAdmin",
    "WorkerAdmin",
]
