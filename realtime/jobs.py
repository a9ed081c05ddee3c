"""The jobs of realtime."""

from __future__ import annotations

from functools import partial

from jobs.cadence import Every
from jobs.context import RunContext
from jobs.declarations import job
from jobs.models.activity import LogSource
from jobs.workers.queue_pass import work_whole_claims
from realtime import conf
from realtime.at_once import deliver_at_once
from realtime.delivery import deliver
from realtime.policy import outbox_policy


@job(
    "realtime.outbox",
    cadence=lambda: Every(ms=conf.POLL_MS.get()),
    summary="Deliver changes to those who may see them.",
    policy=outbox_policy,
    singleton=False,
    config_page="admin:realtime_outboxevent_changelist",
    log_source=LogSource.REALTIME,
)
def run_once(context: RunContext) -> None:
    policy = outbox_policy()
    work_whole_claims(
        context,
        policy,
        partial(deliver, context),
        ahead=partial(deliver_at_once, context, policy),
    )
