"""The console's pages of retention."""

from retention.admin.targets import TargetConfigAdmin

__all__ = ["TargetConfigAdmin"]
