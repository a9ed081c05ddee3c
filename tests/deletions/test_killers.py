"""A step that kills the process that runs it, with real processes."""

from __future__ import annotations

import signal
import time

import pytest

import deletions
from deletions.reads import list_abandoned
from jobs.alerts.evaluate import evaluate
from jobs.models import Alert
from tests.deletions.conftest import is_gone, step_of, steps_of
from tests.deletions.shop.models import Call, Order
from tests.factories import UserFactory

LIMIT_SECONDS = 100
STEPS = (
    "deletions.access.Deactivate,tests.deletions.shop.steps.KillWorker,"
    "deletions.local.DeleteLocalRows"
)


@pytest.mark.crash
@pytest.mark.timeout(150)
def test_a_step_that_kills_its_worker_each_time_is_abandoned_after_exactly_the_cap(
    make_fleet, settings
):
    settings.USER_DELETION_STEPS = tuple(STEPS.split(","))
    user, other = UserFactory(), UserFactory()
    Order.objects.create(user=user)
    deletion = deletions.request(user, requested_by="anna")
    settings.USER_DELETION_STEPS = (
        "deletions.access.Deactivate",
        "deletions.local.DeleteLocalRows",
    )
    fleet = make_fleet(
        USER_DELETION_STEPS=STEPS,
        USER_DELETION_POLL_MS="100",
        WORKER_CLAIM_STALE_MS="1000",
    )

    worker = fleet.start("--only", "deletions.users")
    end = time.monotonic() + LIMIT_SECONDS
    while deletion.status != "abandoned":
        assert time.monotonic() < end, worker.output()
        if worker.code is not None:
            assert worker.code == -signal.SIGKILL, worker.output()
            worker = fleet.start("--only", "deletions.users")
        time.sleep(0.02)
        deletion.refresh_from_db()
    worker.await_output("deletion_abandoned")
    worker.stop()

    assert Call.objects.filter(step="killer").count() == 5
    assert (deletion.attempts, deletion.claim_token) == (5, None)
    assert deletion.abandoned_at is not None
    assert deletion.last_error.startswith("The worker died 5 times while holding this row")
    lines = [line for each in fleet.started for line in each.lines("deletion_abandoned")]
    assert len(lines) == 1
    assert f"id={deletion.pk} user={user.pk} attempts=5" in lines[0]
    assert "killer failed" in lines[0]
    killer = step_of(deletion, "killer")
    assert (killer.state, killer.tries) == ("failed", 5)
    assert killer.detail == "The worker died in this step."
    assert steps_of(deletion)["account"] == "done"
    assert step_of(deletion, "account").tries == 1
    assert steps_of(deletion)["rows"] == "todo"
    assert not is_gone(user)
    other.refresh_from_db()
    assert other.is_active
    evaluate()
    assert Alert.objects.get(rule="dead_letter_depth", subject="user_deletions").resolved_at is None
    (item,) = list_abandoned().items
    assert item.left_behind.startswith("the killer was not survived; the user and rows")
