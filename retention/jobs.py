"""The jobs of retention."""

from __future__ import annotations

from typing import Any

from jobs.cadence import Every
from jobs.context import RunContext
from jobs.declarations import job
from jobs.own_cadence import own_cadence
from retention.sessions import NAME, all_expired, clear_elsewhere
from retention.sweep import Summary, configured_targets, expired_rows, sweep
from retention.uploads.expiring import release_expired

PAGE = "admin:retention_targetconfig_changelist"
UPLOADS_PAGE = "admin:retention_uploadreservation_changelist"


@job(
    "retention.sweep",
    cadence=own_cadence("retention.sweep", "0 3 * * *"),
    cadence_is_data=True,
    summary="Delete what is older than its days.",
    config_page=PAGE,
)
def sweep_targets(context: RunContext) -> Summary:
    return sweep(context, configured_targets())


@job(
    "retention.sessions",
    cadence=Every(seconds=3600),
    summary="Delete expired sessions, links and tokens.",
    config_page=PAGE,
)
def sweep_sessions(context: RunContext) -> Summary:
    elsewhere = clear_elsewhere()
    begun = {NAME: elsewhere} if elsewhere else {}
    return sweep(context, expired_rows(all_expired()), begun=begun)


@job(
    "retention.uploads",
    cadence=Every(seconds=300),
    summary="Release upload reservations that were never finalised.",
    config_page=UPLOADS_PAGE,
)
def release_uploads(context: RunContext) -> dict[str, Any]:
    return release_expired(context)
