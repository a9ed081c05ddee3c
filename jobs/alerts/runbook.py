"""What to do about an alert, a line per rule."""

from __future__ import annotations

from collections.abc import Mapping

from jobs.models.alert import AlertRule

RUNBOOK: Mapping[AlertRule, str] = {
    AlertRule.CONSECUTIVE_FAILURES: (
        "Read the error of the newest failed run, mend its cause, and run the job by hand to see "
        "that it works. Only a scheduled run that succeeds closes the alert."
    ),
    AlertRule.MISSED_WINDOW: (
        "Look at the workers: is one running that does not exclude this job, and is its loop "
        "ticking? An earlier run that is still going on holds the next one back."
    ),
    AlertRule.DEAD_LETTER_DEPTH: (
        "Look at what the dead letters have in common, mend it, and retry them; discard what "
        "nobody needs any more."
    ),
    AlertRule.BACKUP_OLDER_THAN_RPO: (
        "Look at the last run of the backup and at the room on its disk; then take a backup now."
    ),
    AlertRule.STALLED: (
        "Look at the workers that hold the rows: a process that stands still is restarted, and "
        "its rows are taken again when their claims are stale."
    ),
    AlertRule.NO_WORKER: "Start a worker: manage.py runworkers",
}
