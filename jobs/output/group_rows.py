"""Writing the console's groups into the database."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import Group, Permission

from jobs.audit import record
from jobs.groups import ConsoleGroup, console_apps, console_groups
from jobs.models.audit import Via
from jobs.output.errors import MissingPermissionsError
from jobs.reads.links import admin_url
from jobs.transactions import short_transaction
from jobs.verbs.actors import Actor, as_user

VERB = "console_groups"


@dataclass(frozen=True, kw_only=True)
class GroupItem:
    """One group, and what became of it."""

    id: int
    name: str
    created: bool
    permissions: tuple[str, ...]  # all that the console gives it
    added: tuple[str, ...]
    removed: tuple[str, ...]
    users: int
    admin_url: str


@dataclass(frozen=True, kw_only=True)
class GroupList:
    """The groups, the one that may least first."""

    items: tuple[GroupItem, ...]
    next_before_id: None = None  # there is only one page


def write_groups(*, actor: Actor, via: Via) -> GroupList:
    """
    Create or update the groups; permissions of apps that are not the console's stay.

    One row of the audit when anything changed. Raises ``MissingPermissionsError``.
    """
    with short_transaction("default"):
        known = _permissions({name for group in console_groups() for name in group.permissions})
        items = tuple(_write(group, known) for group in console_groups())
        changed = [item for item in items if item.created or item.added or item.removed]
        if changed:
            record(
                actor=as_user(actor),
                via=via,
                verb=VERB,
                target=Group._meta.db_table,
                detail={
                    item.name: {"added": item.added, "removed": item.removed} for item in changed
                },
            )
    return GroupList(items=items)


def _permissions(names: Iterable[str]) -> dict[str, Permission]:
    wanted = set(names)
    apps = {name.partition(".")[0] for name in wanted}
    rows = Permission.objects.filter(content_type__app_label__in=apps)
    found = {_name(row): row for row in rows.select_related("content_type")}
    if missing := sorted(wanted - found.keys()):
        raise MissingPermissionsError(missing)
    return found


def _write(group: ConsoleGroup, known: dict[str, Permission]) -> GroupItem:
    row, created = Group.objects.get_or_create(name=group.name)
    held = {
        _name(permission): permission
        for permission in row.permissions.filter(
            content_type__app_label__in=console_apps()
        ).select_related("content_type")
    }
    added = sorted(group.permissions - held.keys())
    removed = sorted(held.keys() - group.permissions)
    row.permissions.add(*(known[name] for name in added))
    row.permissions.remove(*(held[name] for name in removed))
    return GroupItem(
        id=row.pk,
        name=group.name,
        created=created,
        permissions=tuple(sorted(group.permissions)),
        added=tuple(added),
        removed=tuple(removed),
        users=row.user_set.count(),
        admin_url=admin_url(Group, row.pk),
    )


def _name(permission: Permission) -> str:
    return f"{permission.content_type.app_label}.{permission.codename}"
