"""The pages of the outbox and of the sockets in a real browser, under the site's policy."""

from __future__ import annotations

import pytest

from realtime.models import OutboxEvent
from tests.realtime.connected import connect
from tests.realtime.working import put

pytestmark = pytest.mark.browser
TRACEBACK = (
    'IntegrityError: new row for relation "realtime_bus" violates check constraint\n'
    'Traceback (most recent call last):\n  File "realtime/delivery.py", line 96, in _put\n'
)


def test_an_operator_finds_a_dead_letter_and_retries_it(operator, theme):
    operator.open("/admin/realtime/outboxevent/")
    operator.page.get_by_text("Nothing was published yet.").wait_for()
    operator.picture(f"outbox-empty-{theme}")
    put(*[{"n": number} for number in range(60)], key="shop_order:48121")
    put({"a": 1}, topic="a topic whose name is rather long, as some of them happen to be " * 2)
    (dead,) = put({"secret": "only for some"}, key="shop_order:7")
    OutboxEvent.objects.filter(pk=dead).update(
        status="failed", attempts=8, last_error=TRACEBACK, finished_at="2026-01-01T00:00Z"
    )
    OutboxEvent.objects.filter(pk=dead - 1).update(
        status="failed", attempts=2, last_error=TRACEBACK, next_retry_at="2100-01-01T00:00Z"
    )

    operator.open("/admin/realtime/outboxevent/")
    operator.picture(f"outbox-{theme}")
    operator.open("/admin/realtime/outboxevent/?status=dead")
    operator.page.get_by_role("link", name=str(dead), exact=True).click()
    operator.page.get_by_text("IntegrityError").first.wait_for()
    operator.picture(f"outbox-event-{theme}")
    operator.page.get_by_role("link", name="Retry…").click()
    operator.page.get_by_label("Reason").fill("the constraint is gone")
    operator.picture(f"outbox-retry-{theme}")
    operator.page.locator("#verb-form [type=submit]").click()
    operator.page.get_by_text("1 outbox event retried.").wait_for()

    assert OutboxEvent.objects.get(pk=dead).status == "pending"


def test_sockets_are_seen_with_their_topics(operator, theme):
    operator.open("/admin/realtime/realtimesession/")
    operator.picture(f"sessions-empty-{theme}")
    for number in range(12):
        topics = [f"board.{board}" for board in range(number)]
        connect(f"kq0vJ3m8pT{number:06}", str(number), *topics, expired=number == 3)

    operator.open("/admin/realtime/realtimesession/")
    operator.picture(f"sessions-{theme}")
    operator.page.get_by_role("link", name="kq0vJ3m8pT000011").click()
    operator.page.get_by_text("board.10").wait_for()
    operator.picture(f"session-{theme}")
