"""
The console's three groups and what each may, worked out from the installed apps' models.

What belongs to the console are the engine's own tables and every model with a console page
in the admin, a user's own queue included. A verb is a permission of such an app's model,
named by its first word. Configuration is a model whose admin class says
``console_config = True``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db.models import Model

ENGINE_APP = "jobs"
OBSERVER = "Observer"
OPERATOR = "Operator"
ADMINISTRATOR = "Administrator"

# First words of the permissions that let an operator mend things without losing any.
OPERATOR_WORDS = frozenset(
    {"run", "pause", "resume", "cancel", "acknowledge", "retry", "requeue", "replay", "resend"}
)
# What operators need to see besides rows. Bodies, such as of mail, are for administrators.
OPERATOR_VIEWS = frozenset({"view_run_output"})
CONFIG_WORDS = ("add", "change", "delete", "view")


@dataclass(frozen=True, kw_only=True)
class ConsoleGroup:
    """A group and its permissions by their full names, such as ``jobs.run_job``."""

    name: str
    permissions: frozenset[str]


def console_groups() -> tuple[ConsoleGroup, ...]:
    """Return the three groups; each may what the one before it may."""
    views = frozenset(_name("view", model) for model in console_models())
    verbs = frozenset(_custom_permissions())
    operator = views | {name for name in verbs if is_operators(name)}
    config = {_name(word, model) for model in config_models() for word in CONFIG_WORDS}
    return (
        ConsoleGroup(name=OBSERVER, permissions=views),
        ConsoleGroup(name=OPERATOR, permissions=operator),
        ConsoleGroup(name=ADMINISTRATOR, permissions=operator | verbs | config),
    )


def is_operators(name: str) -> bool:
    """Say whether a verb's permission is one of an operator's. A pure function."""
    codename = name.rpartition(".")[2]
    return codename in OPERATOR_VIEWS or codename.partition("_")[0] in OPERATOR_WORDS


def console_models() -> list[type[Model]]:
    """Return the engine's own tables and every model with a console page."""
    engine = list(apps.get_app_config(ENGINE_APP).get_models())
    pages = [model for model, page in _pages().items() if _is_console_page(page)]
    return sorted({*engine, *pages}, key=lambda model: model._meta.label)


def config_models() -> list[type[Model]]:
    """Return the models that hold the console's configuration."""
    return sorted(
        (model for model, page in _pages().items() if getattr(page, "console_config", False)),
        key=lambda model: model._meta.label,
    )


def console_apps() -> frozenset[str]:
    """Return the labels of the apps that have something to do with the console."""
    models = (*console_models(), *config_models())
    return frozenset(model._meta.app_label for model in models)


def _custom_permissions() -> Iterator[str]:
    for label in console_apps():
        for model in apps.get_app_config(label).get_models():
            for codename, _ in model._meta.permissions:
                yield f"{label}.{codename}"


def _pages() -> Mapping[type[Model], Any]:
    if not apps.is_installed("django.contrib.admin"):
        return {}
    from django.contrib import admin

    return admin.site._registry  # noqa: SLF001 (there is no public way to list them)


def _is_console_page(page: object) -> bool:
    # Loading it needs the admin, which a project may go without.
    from jobs.admin.base import ReadOnlyAdmin

    return isinstance(page, ReadOnlyAdmin)


def _name(word: str, model: type[Model]) -> str:
    return f"{model._meta.app_label}.{word}_{model._meta.model_name}"
