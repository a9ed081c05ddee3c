"""The jobs of the email queue."""

from __future__ import annotations

from emails import conf
from emails.policy import email_policy
from emails.processor import process
from jobs.cadence import Every
from jobs.context import RunContext
from jobs.declarations import job
from jobs.models.activity import LogSource


@job(
    "emails.processor",
    cadence=lambda: Every(ms=conf.POLL_MS.get()),
    summary="Deliver queued mail.",
    policy=email_policy,
    singleton=False,
    config_page="admin:emails_emailjob_changelist",
    log_source=LogSource.EMAIL,
)
def run_once(context: RunContext) -> None:
    process(context)
