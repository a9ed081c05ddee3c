"""The tables of retention."""

from retention.models.target import LONGEST_DAYS, TargetConfig

__all__ = ["LONGEST_DAYS", "TargetConfig"]
