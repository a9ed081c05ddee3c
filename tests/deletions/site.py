"""Settings of the workers that these tests start and kill: the site with the shop."""

from __future__ import annotations

from tests.crash.settings import *  # noqa: F403
from tests.crash.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.deletions.shop"]
