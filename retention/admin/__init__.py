"""The console's pages of retention."""

from retention.admin.targets import TargetConfigAdmin
from retention.admin.uploads import UploadReservationAdmin

__all__ = ["TargetConfigAdmin", "UploadReservationAdmin"]
