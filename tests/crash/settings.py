"""Settings of the workers that these tests start and kill: the site, with the test queues."""

from __future__ import annotations

from project import env
from project.settings import *  # noqa: F403
from project.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.testapp"]
if env.text("SCHEDULED"):
    INSTALLED_APPS += ["tests.crash.scheduled.apps.ScheduledConfig"]
CRATE_LEASE_MS = int(env.text("CRATE_LEASE_MS") or 1500)
# The kinds of parcels that this version of the code knows; all of them unless given.
PARCEL_KINDS = env.text("PARCEL_KINDS").split()
