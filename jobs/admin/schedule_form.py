"""What the page asks that changes when a job runs."""

from __future__ import annotations

from typing import Any

from django import forms

from jobs.admin.verb_form import VerbForm
from jobs.cadence import Cron
from jobs.errors import CadenceError
from jobs.own_cadence import OwnCadence
from jobs.reads.cadences import CadenceItem


class ScheduleForm(VerbForm):
    """A cron expression in a time zone; both empty is what the job was declared with."""

    expression = forms.CharField(max_length=200, required=False, label="Cron expression")
    zone = forms.CharField(max_length=100, required=False, label="Time zone")

    def __init__(self, data: Any, *, own: OwnCadence, cadence: CadenceItem | None) -> None:
        super().__init__(data, count=1)
        default = own.default
        if cadence is not None:
            self.initial = {"expression": cadence.expression or "", "zone": cadence.timezone or ""}
        self.fields["expression"].help_text = (
            f"Minute, hour, day of month, month, day of week; or @hourly, @daily and the like."
            f" Empty: {default.expression} {default.zone}, as declared."
        )
        self.fields["zone"].help_text = "Such as Europe/Berlin. Empty: UTC."

    def clean(self) -> dict[str, Any]:
        given = super().clean() or self.cleaned_data
        expression, zone = given.get("expression", ""), given.get("zone", "")
        given["cadence"] = None
        if expression:
            try:
                given["cadence"] = Cron(expression, zone=zone or "UTC")
            except CadenceError as error:
                self.add_error("zone" if error.subject == "time zone" else "expression", str(error))
        elif zone:
            self.add_error("expression", "Write when it runs in that time zone.")
        return given

    @property
    def asked(self) -> dict[str, Any]:
        return {"cadence": self.cleaned_data["cadence"]}
