"""The admin's own history, written beside the audit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model

from jobs.verbs.targets import kept_reason

if TYPE_CHECKING:
    from django.contrib.auth.models import AbstractBaseUser

# Beyond it one entry says how many: the history of each is in the audit's detail.
ENTRIES_EACH = 1000
REPR_LENGTH = 200


def log_entries(
    user: AbstractBaseUser, model: type[Model], keys: Sequence[int | str], *, text: str
) -> None:
    """Write an entry for each changed row, or one for all of very many; secrets are masked."""
    content_type = ContentType.objects.get_for_model(model)
    noun = str(model._meta.verbose_name)
    if len(keys) > ENTRIES_EACH:
        plural = model._meta.verbose_name_plural
        named: list[tuple[str | None, str]] = [(None, f"{len(keys):,} {plural}")]
    else:
        named = [(str(key), f"{noun} {key}") for key in keys]
    LogEntry.objects.bulk_create(
        LogEntry(
            user_id=user.pk,
            content_type=content_type,
            object_id=object_id,
            object_repr=words[:REPR_LENGTH],
            action_flag=CHANGE,
            change_message=kept_reason(text),
        )
        for object_id, words in named
    )
