"""Values as JSON can hold them, for what is only to be shown."""

from __future__ import annotations

import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from jobs.failure import storable
from jobs.redaction import mask_secrets


class PlainEncoder(DjangoJSONEncoder):
    """Dates, decimals and UUIDs as Django writes them, anything else as its repr."""

    def default(self, o: Any) -> Any:
        try:
            return super().default(o)
        except TypeError:
            return repr(o)


def plain_text(value: Any) -> str:
    """Return the value as JSON text, masked, and as PostgreSQL can hold it."""
    try:
        text = json.dumps(value, cls=PlainEncoder)
    except (TypeError, ValueError):  # keys that are no texts, or a circle
        text = json.dumps(repr(value))
    return mask_secrets(storable(text))
