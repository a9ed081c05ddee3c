"""What a shop knows of its customers, for tests."""

from django.apps import AppConfig


class ShopConfig(AppConfig):
    name = "tests.deletions.shop"
    label = "shop"
    default_auto_field = "django.db.models.BigAutoField"
