"""Settings of the workers that these tests start and kill: the site, with the test queues."""

from __future__ import annotations

from project import env
from project.settings import *  # noqa: F403
from project.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.testapp"]
CRATE_LEASE_MS = int(env.text("CRATE_LEASE_MS") or 1500)
