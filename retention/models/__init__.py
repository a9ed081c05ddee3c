"""The tables of retention."""

from retention.models.target import LONGEST_DAYS, TargetConfig
from retention.models.upload import UploadReservation, UploadStatus

__all__ = ["LONGEST_DAYS", "TargetConfig", "UploadReservation", "UploadStatus"]
