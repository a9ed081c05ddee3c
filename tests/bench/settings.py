"""Settings of the benchmark: this site on a server of its own, and one more queue."""

from __future__ import annotations

from project.settings import *  # noqa: F403
from project.settings import INSTALLED_APPS, LOGGING

INSTALLED_APPS = [*INSTALLED_APPS, "tests.bench.noop"]
LOGGING["root"]["level"] = "WARNING"
