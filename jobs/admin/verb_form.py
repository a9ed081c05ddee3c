"""What a verb's page asks: a reason, and the number when it is large."""

from __future__ import annotations

from typing import Any

from django import forms

COUNT_UNASKED = 1000


class VerbForm(forms.Form):
    """Above 1,000 rows the number is typed: 4 rows is not 400,000."""

    reason = forms.CharField(
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 60}),
        error_messages={"required": "Say why: the audit keeps it."},
    )
    typed_count = forms.CharField(required=False, label="Number of rows")

    def __init__(self, data: Any = None, *, count: int) -> None:
        super().__init__(data)
        self.count = count
        if not self.asks_count:
            del self.fields["typed_count"]

    @property
    def asked(self) -> dict[str, Any]:
        """What the verb is told beside the reason."""
        return {}

    @property
    def more_fields(self) -> list[forms.BoundField]:
        """The fields of a verb of its own kind."""
        return [self[name] for name in self.fields if name not in ("reason", "typed_count")]

    @property
    def asks_count(self) -> bool:
        return self.count > COUNT_UNASKED

    def clean_typed_count(self) -> str:
        typed = str(self.cleaned_data["typed_count"])
        if typed.replace(",", "").replace(" ", "") != str(self.count):
            raise forms.ValidationError(f"Type {self.count} to go on: it is that many rows.")
        return typed
