"""The admin's pages of deletions."""

from deletions.admin.bucket import BucketDeletionJobAdmin
from deletions.admin.deletion import UserDeletionAdmin

__all__ = ["BucketDeletionJobAdmin", "UserDeletionAdmin"]
