"""Settings of the processes that tests of commands start: the site, with the test jobs."""

from __future__ import annotations

from project import env
from project.settings import *  # noqa: F403
from project.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.testapp"]
STOCKTAKING = env.text("STOCKTAKING")
