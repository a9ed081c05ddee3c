"""What is copied of a user at the request, since the external half comes after much is gone."""

from __future__ import annotations

import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.utils.crypto import salted_hmac
from django.utils.module_loading import import_string

from deletions import conf
from deletions.errors import SnapshotError


def take_snapshot(user: Any) -> dict[str, Any]:
    """
    Return billing customer, buckets and a keyed hash of the address, and what the project adds.

    Raises ``SnapshotError`` when ``USER_DELETION_SNAPSHOT`` returns no dict of JSON.
    """
    return {
        "billing_customer": str(user.pk),
        "buckets": [],
        "address_hash": address_hash(_address(user)),
        **_of_project(user),
    }


def address_hash(address: str) -> str:
    """Return a keyed hash of an address in lower case; empty without one."""
    if not address:
        return ""
    lowered = address.strip().lower()
    return salted_hmac("deletions.address", lowered, algorithm="sha256").hexdigest()


def _address(user: Any) -> str:
    name = getattr(user, "get_email_field_name", lambda: "email")()
    return str(getattr(user, name, "") or "")


def _of_project(user: Any) -> dict[str, Any]:
    path = conf.SNAPSHOT.get()
    if not path:
        return {}
    found = import_string(path)(user)
    if not isinstance(found, dict):
        raise SnapshotError(path, f"it returned {type(found).__name__}")
    try:
        plain = json.loads(json.dumps(found, cls=DjangoJSONEncoder))
    except (TypeError, ValueError) as error:
        raise SnapshotError(path, str(error)) from None
    assert isinstance(plain, dict)
    return plain
