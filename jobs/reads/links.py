"""Addresses in the console."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.db.models import Model
from django.urls import NoReverseMatch, reverse

from jobs import conf


def object_path(model: type[Model], key: Any) -> str:
    """Return the path of a row's page; empty where the project has no admin."""
    # A worker without the admin need not load it.
    from django.contrib.admin.utils import quote

    return _reverse(f"{_prefix(model)}_change", quote(key))


def list_path(model: type[Model], **filters: object) -> str:
    """Return the path of the list of exactly these rows; filters without a value are left out."""
    path = _reverse(f"{_prefix(model)}_changelist")
    given = {name: value for name, value in filters.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if path and given else path


def admin_url(model: type[Model], key: Any) -> str:
    """Return the full address of a row's page, for mails, commands and tools."""
    path = object_path(model, key)
    return f"{site_url()}{path}" if path else ""


def site_url() -> str:
    """Return where people reach this site, without a slash at the end."""
    return (conf.PUBLIC_URL.get() or f"http://{conf.WEB.get()}").rstrip("/")


def _prefix(model: type[Model]) -> str:
    return f"admin:{model._meta.app_label}_{model._meta.model_name}"


def _reverse(name: str, *arguments: object) -> str:
    try:
        return reverse(name, args=arguments)
    except NoReverseMatch:
        return ""
