"""What a project may hook, such as its error tracker."""

from __future__ import annotations

from django.dispatch import Signal

# Sent with job_id, run_id (None for a pass folded into another run), error (text), exception.
run_failed = Signal()
# Sent with job_id, run_id, status, output.
run_finished = Signal()
