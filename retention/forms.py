"""The form of a target's days."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms

from retention.days import parse_days
from retention.errors import DaysError
from retention.models import TargetConfig

if TYPE_CHECKING:
    ModelForm = forms.ModelForm[TargetConfig]
else:
    ModelForm = forms.ModelForm


class DaysField(forms.CharField):
    """A number of days as it is written; empty is None. Nothing is rounded or cut."""

    def to_python(self, value: Any) -> Any:
        if value is None or isinstance(value, int):
            return value
        try:
            return parse_days(str(value))
        except DaysError as error:
            raise forms.ValidationError(str(error), code="days") from error

    def has_changed(self, initial: Any, data: Any) -> bool:
        return str(data or "").strip() != ("" if initial is None else str(initial))


class TargetForm(ModelForm):
    """Days, and whether the target is swept at all."""

    days = DaysField(
        required=False,
        label="Days",
        help_text="0 to 3650. Empty: kept for ever. 0: everything goes at the next sweep.",
    )
    enabled = forms.BooleanField(
        required=False, label="Enabled", help_text="Off: left alone, whatever the days say."
    )
    reason = forms.CharField(
        required=False, max_length=2000, help_text="Why; kept in the audit.", label="Reason"
    )

    class Meta:
        model = TargetConfig
        fields = ("days", "enabled")
