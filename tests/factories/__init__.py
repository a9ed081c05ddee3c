"""Rows for tests, a factory per model. Big tables are made in SQL instead."""

from tests.factories.emails import EmailBodyFactory, EmailJobFactory
from tests.factories.jobs import (
    ActivityLogFactory,
    AlertFactory,
    AuditLogFactory,
    JobRunFactory,
    JobStateFactory,
    WorkerFactory,
)
from tests.factories.users import UserFactory, give

__all__ = [
    "ActivityLogFactory",
    "AlertFactory",
    "AuditLogFactory",
    "EmailBodyFactory",
    "EmailJobFactory",
    "JobRunFactory",
    "JobStateFactory",
    "UserFactory",
    "WorkerFactory",
    "give",
]
