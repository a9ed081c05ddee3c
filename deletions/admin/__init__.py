"""The admin's pages of deletions."""

from deletions.admin.deletion import UserDeletionAdmin

__all__ = ["UserDeletionAdmin"]
