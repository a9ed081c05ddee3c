"""Rows for tests, a factory per model. Big tables are made in SQL instead."""

from tests.factories.emails import EmailBodyFactory, EmailJobFactory
from tests.factories.jobs import (
    ActivityLogFactory,
    AuditLogFactory,
    JobRunFactory,
    WorkerFactory,
)
from tests.factories.users import UserFactory, give

__all__ = [
    "ActivityLogFactory",
    "AuditLogFactory",
    "EmailBodyFactory",
    "EmailJobFactory",
    "JobRunFactory",
    "UserFactory",
    "WorkerFactory",
    "give",
]
