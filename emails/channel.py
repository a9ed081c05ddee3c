"""
The way out as a whole: paused when it fails, tried by one worker, resumed by its success.

The state is in the database, so that all workers together make one connection per pause.
Whoever fails first pauses the channel; when the pause is over, one guarded UPDATE decides
which worker tries it with one mail. While it is paused nothing is claimed, and no mail loses
an attempt.
"""

from __future__ import annotations

import enum
import logging
import uuid
from typing import Any

from django.db.models import BooleanField, DurationField, ExpressionWrapper, F, Q
from django.utils.crypto import salted_hmac

from emails.delivery import DeliveryURL
from emails.envelopes import ChannelError
from emails.models import EmailChannel, EmailJob
from emails.replies import Stage
from jobs import notifier
from jobs.clock import ClockTime, Now, from_now
from jobs.failure import storable
from jobs.transactions import short_transaction

logger = logging.getLogger(__name__)
FIRST_PAUSE_SECONDS = 10.0
LONGEST_PAUSE_SECONDS = 60.0
# Wrong credentials, tried every minute, lock accounts.
LONGEST_SIGN_IN_PAUSE_SECONDS = 300.0
# How long one worker may try alone before another does.
PROBE_SECONDS = 180.0
LONGEST_ERROR = 1000


class Admission(enum.Enum):
    """Whether mail may be claimed now."""

    OPEN = "open"
    PROBE = "probe"  # one mail, by this worker, to see whether the channel works again
    SHUT = "shut"


class Channel:
    """One delivery configuration, as one pass of one worker sees it."""

    def __init__(self, url: DeliveryURL) -> None:
        self.fingerprint = fingerprint(url)
        self._address = url.masked
        self._token = uuid.uuid4()
        self._probes = False
        # Set once this worker knows of a pause: what it holds and has not begun goes back.
        self.is_paused = False

    @property
    def is_probe(self) -> bool:
        """Whether this worker is the one that tries a paused channel."""
        return self._probes

    def admit(self) -> Admission:
        """Say whether mail may be claimed; a PROBE has to end in one of the calls below."""
        found = self._rows().filter(paused_at__isnull=False).values_list("next_try_at", _is_due())
        state = found.first()
        if state is None:
            self.is_paused = False
            return Admission.OPEN
        if state[1] and self._begin_probe():
            self.is_paused, self._probes = False, True
            return Admission.PROBE
        self.is_paused = not self._probes
        return Admission.SHUT

    def fail(self, error: ChannelError) -> int:
        """Pause the channel, or go on pausing it; return the milliseconds until its next try."""
        EmailChannel.objects.bulk_create(
            [EmailChannel(fingerprint=self.fingerprint, address=self._address)],
            ignore_conflicts=True,
        )
        with short_transaction("default"):
            row = self._rows().select_for_update().get()
            mine = row.paused_at is None or row.probe_token == self._token
            if mine or self._rows().filter(next_try_at__lte=Now()).exists():
                self._pause(row, error)
        self._probes, self.is_paused = False, True
        return self._milliseconds_left()

    def work(self) -> bool:
        """End the pause that this worker was probing: all workers go on. False: it was not."""
        self._probes = False
        resumed = self._probed().update(
            failures=0, paused_at=None, next_try_at=None, probe_token=None, resumed_at=ClockTime()
        )
        if resumed:
            logger.warning("channel_resumed address=%s", self._address)
            notifier.wake(EmailJob._meta.db_table)
        return bool(resumed)

    def leave(self) -> None:
        """Give the probe back: there was no mail to try the channel with."""
        self._probes, self.is_paused = False, True
        self._probed().update(next_try_at=ClockTime(), probe_token=None)

    def _begin_probe(self) -> bool:
        won = self._rows().filter(next_try_at__lte=Now(), paused_at__isnull=False)
        until = from_now(PROBE_SECONDS * 1000)
        return bool(won.update(next_try_at=until, probe_token=self._token))

    def _pause(self, row: EmailChannel, error: ChannelError) -> None:
        seconds = pause_seconds(row.failures + 1, error.stage)
        values: dict[str, Any] = {
            "failures": row.failures + 1,
            "next_try_at": from_now(seconds * 1000),
            "probe_token": None,
            "failed_at": ClockTime(),
            "last_code": error.reply.code if error.reply else None,
            "last_error": storable(error.text)[:LONGEST_ERROR],
        }
        if row.paused_at is None:
            values["paused_at"] = ClockTime()
            logger.warning(
                "channel_paused address=%s seconds=%g error=%s", self._address, seconds, error.text
            )
        self._rows().update(**values)

    def _milliseconds_left(self) -> int:
        left = ExpressionWrapper(F("next_try_at") - Now(), output_field=DurationField())
        rows = self._rows().filter(next_try_at__isnull=False).annotate(left=left)
        found = rows.values_list("left", flat=True).first()
        return 0 if found is None else max(0, int(found.total_seconds() * 1000))

    def _rows(self) -> Any:
        return EmailChannel.objects.filter(fingerprint=self.fingerprint)

    def _probed(self) -> Any:
        return self._rows().filter(probe_token=self._token, paused_at__isnull=False)


def pause_seconds(failures: int, stage: Stage) -> float:
    """Return how long the channel rests after so many failures in a row, the last at a stage."""
    longest = LONGEST_SIGN_IN_PAUSE_SECONDS if stage is Stage.AUTH else LONGEST_PAUSE_SECONDS
    return float(min(longest, FIRST_PAUSE_SECONDS * 2 ** min(failures - 1, 20)))


def fingerprint(url: DeliveryURL) -> str:
    """Return what tells this delivery from others, its password included and not readable."""
    return salted_hmac("emails.channel", url.text, algorithm="sha256").hexdigest()


def _is_due() -> Any:
    return ExpressionWrapper(Q(next_try_at__lte=Now()), output_field=BooleanField())
