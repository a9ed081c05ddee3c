"""The proof that a connection hears: a nonce, its echo, and what its absence means."""

from __future__ import annotations

import pytest

from jobs.errors import ListenSilentError
from jobs.workers.listener import ListenTiming
from jobs.workers.probe import EchoProbe


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def probe_with(clock, *, trouble=None):
    sent = []
    probe = EchoProbe(
        send=lambda *note: sent.append(note),
        trouble=lambda: trouble,
        every_seconds=20,
        within_seconds=9,
        clock=clock,
    )
    return probe, sent


def test_a_probe_is_sent_at_once_and_every_interval_after():
    clock = Clock()
    probe, sent = probe_with(clock)

    assert probe.pulse() == 9
    assert probe.hear(sent[0][1])
    clock.now += 5
    assert probe.pulse() == 15
    clock.now += 15
    assert probe.pulse() == 9

    assert len(sent) == 2
    assert {channel for channel, _ in sent} == {probe.channel}
    assert sent[0] != sent[1]


def test_only_the_nonce_that_was_sent_is_a_proof():
    probe, sent = probe_with(Clock())
    probe.pulse()

    assert not probe.hear("something else")
    assert not probe.proved
    assert probe.hear(sent[0][1])
    assert probe.proved


def test_only_the_first_echo_is_news():
    clock = Clock()
    probe, sent = probe_with(clock)
    probe.pulse()
    probe.hear(sent[0][1])
    clock.now += 20
    probe.pulse()

    assert not probe.hear(sent[1][1])


@pytest.mark.parametrize(
    ("is_proved", "trouble", "hint"),
    [
        (False, None, "set DIRECT_DATABASE_URL"),
        (True, None, "died unnoticed"),
        (False, "OperationalError: no route", "could not be sent .OperationalError: no route"),
    ],
)
def test_an_echo_that_does_not_come_in_time_says_what_it_means(is_proved, trouble, hint):
    clock = Clock()
    probe, sent = probe_with(clock, trouble=trouble)
    probe.pulse()
    if is_proved:
        probe.hear(sent[0][1])
        clock.now += 20
        probe.pulse()
    clock.now += 8.9
    probe.pulse()
    clock.now += 0.2

    with pytest.raises(ListenSilentError, match=hint) as caught:
        probe.pulse()

    assert caught.value.was_proved is is_proved


def test_a_dead_connection_is_noticed_within_thirty_seconds():
    timing = ListenTiming()

    assert timing.probe_every + timing.echo_within < 30
