"""Values as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder


def as_json(value: Any) -> str:
    """Return a dataclass as one JSON object on one line, times in ISO 8601 with Z."""
    plain = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    return json.dumps(plain, cls=DjangoJSONEncoder)
