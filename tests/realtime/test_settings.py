"""Settings of the outbox that are refused before anything starts."""

from __future__ import annotations

from typing import Any

import pytest

from jobs.errors import SettingError
from realtime.checks import check_heartbeat, check_settings
from realtime.conf import SETTINGS
from realtime.policy import outbox_policy


def test_a_heartbeat_of_more_than_a_third_of_its_lease_is_refused(settings: Any) -> None:
    settings.REALTIME_LEASE_MS = 30_000
    settings.REALTIME_HEARTBEAT_MS = 10_001

    told = "REALTIME_HEARTBEAT_MS=10001 is not allowed: at most 10000, a third of REALTIME_LEASE_MS"
    with pytest.raises(SettingError, match=told):
        outbox_policy()
    (found,) = check_heartbeat()
    assert found.id == "realtime.E002"
    assert told in found.msg


def test_a_heartbeat_of_a_third_is_what_the_claims_are_refreshed_by(settings: Any) -> None:
    settings.REALTIME_LEASE_MS = 30_000
    settings.REALTIME_HEARTBEAT_MS = 10_000

    assert outbox_policy().expiry.heartbeat_seconds == 10
    assert check_heartbeat() == []


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.name)
def test_what_is_out_of_range_is_refused_and_not_coerced(settings: Any, setting: Any) -> None:
    setattr(settings, setting.name, setting.maximum + 1)

    (found,) = check_settings()

    assert found.id == "realtime.E001"
    assert found.msg.startswith(f"{setting.name}={setting.maximum + 1} is not allowed")


def test_the_claim_follows_the_settings(settings: Any) -> None:
    settings.REALTIME_CLAIM_BATCH = 1
    settings.REALTIME_MAX_ATTEMPTS = 3

    policy = outbox_policy()

    assert (policy.batch, policy.max_attempts) == (1, 3)
