"""People who may enter the console."""

from __future__ import annotations

from typing import Any

import factory
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission


class UserFactory(factory.django.DjangoModelFactory):
    """A staff member without a permission; ``is_superuser=True`` for all of them."""

    class Meta:
        model = get_user_model()

    username = factory.Sequence(lambda n: f"anna{n}")
    is_staff = True


def give(user: Any, *permissions: str) -> None:
    """Give the user permissions by their full names, such as ``emails.retry_emailjob``."""
    for name in permissions:
        app_label, codename = name.split(".")
        user.user_permissions.add(
            Permission.objects.get(content_type__app_label=app_label, codename=codename)
        )
