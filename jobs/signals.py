"""What a project may hook, such as its error tracker."""

from __future__ import annotations

from django.dispatch import Signal

# Sent with job_id and run_id when a run that is going on has its row: of short passes only
# their end is told.
run_started = Signal()
# Sent with job_id, run_id (None for a pass folded into another run), error (text), exception.
run_failed = Signal()
# Sent with job_id, run_id, status, output.
run_finished = Signal()
