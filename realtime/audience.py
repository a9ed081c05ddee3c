"""
Who is told of an event: what stands in the column ``audience`` of its row.

``{"mode": "disabled"}`` is nobody, ``{"mode": "all"}`` everyone on the topic: whoever writes
it declares that each of them may see it. ``{"mode": "restricted"}`` names ``users`` by their
keys as text, or ``sids``, the sockets that were captured before a row was deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

from realtime.errors import PublishError

MOST_KEYS = 100_000
# Of a row that is gone or out of sight: nobody can be asked whether they may see it.
GONE = ("delete", "leave")


class Mode(StrEnum):
    """Whom an event is for."""

    DISABLED = "disabled"
    ALL = "all"
    RESTRICTED = "restricted"


def nobody() -> dict[str, Any]:
    """Return the audience of an event that is sent to nobody."""
    return {"mode": Mode.DISABLED.value}


def everyone() -> dict[str, Any]:
    """Return the audience of all who are on the topic."""
    return {"mode": Mode.ALL.value}


def users(keys: Iterable[str]) -> dict[str, Any]:
    """Return the audience of these users, by their keys as text."""
    return {"mode": Mode.RESTRICTED.value, "users": sorted(set(keys))}


def checked(event: str, audience: Any) -> dict[str, Any]:
    """Return an audience in the form in which it is kept. Raises PublishError."""
    if not isinstance(audience, Mapping):
        raise PublishError("audience", audience, "it is a dict with the key 'mode'")
    mode = audience.get("mode")
    if mode not in list(Mode):
        raise PublishError("audience", audience, "its mode is 'disabled', 'all' or 'restricted'")
    named = {name: _keys(audience, name) for name in ("users", "sids") if name in audience}
    kept = {"readers", "captured_at"} if "sids" in named else set()
    unknown = sorted(str(name) for name in set(audience) - {"mode", *named, *kept})
    if unknown or (named and mode != Mode.RESTRICTED):
        advice = "'all' and 'disabled' name nobody, 'restricted' names 'users' or 'sids'"
        raise PublishError("audience", audience, advice)
    if mode == Mode.RESTRICTED:
        _check_named(event, audience, named)
    return {**audience, "mode": str(mode), **named}


def _check_named(event: str, audience: Any, named: dict[str, list[str]]) -> None:
    if event in GONE and "sids" not in named:
        advice = (
            "a restricted delete goes to the sockets that were captured in its transaction "
            "before it: take the audience from realtime.capture(topic, users)"
        )
        raise PublishError("audience", audience, advice)
    if len(named) != 1:
        advice = "a restricted audience names either 'users' or 'sids', if only an empty list"
        raise PublishError("audience", audience, advice)


def _keys(audience: Mapping[str, Any], name: str) -> list[str]:
    given = audience[name]
    if not isinstance(given, list | tuple | set | frozenset):
        raise PublishError(f"audience[{name!r}]", given, "it is a list of keys as text")
    for key in given:
        if not isinstance(key, str) or not key or "\0" in key:
            advice = "each key is text, such as str(user.pk)"
            raise PublishError(f"audience[{name!r}]", key, advice)
    if len(given) > MOST_KEYS:
        advice = f"{len(given)} keys are more than {MOST_KEYS}: give them a topic of their own"
        raise PublishError(f"audience[{name!r}]", "…", advice)
    return sorted(set(given))
