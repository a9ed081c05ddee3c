"""
Many mails over a few connections, by one thread.

What all of them have come to is committed in one statement, and each goes on when it is. A mail
with an answer that is not the usual one is handed over, with what was said and heard of it.
"""

from __future__ import annotations

import logging
import smtplib
import time
from collections.abc import Sequence
from selectors import EVENT_READ, EVENT_WRITE, DefaultSelector
from typing import Protocol

from django.utils import timezone

from emails.pool import MOST_MESSAGES
from emails.smtp import Connection
from emails.smtp_client import Transcript
from emails.streaming.commit import Arrived, Commit, arrival
from emails.streaming.conversation import Conversation
from emails.streaming.lines import Lines
from emails.streaming.ongoing import Ongoing
from emails.streaming.ride import Ride
from emails.streaming.steps import ADVANCE
from jobs.writers import Writer

logger = logging.getLogger(__name__)
# What one connection has come to waits so long for the others: a commit costs the same for all
# of them as for one.
LINGER_SECONDS = 0.001
LOOK_SECONDS = 0.05  # between two looks for servers that take too long
USING = "default"


class Passengers(Protocol):
    """Where mails come from and go to."""

    def next(self) -> Ride | None:
        """Return a mail to be begun; None when there is none now."""

    def coming(self, count: int) -> Sequence[Ride]:
        """Return mails that will be next and of which this was not told before."""

    def departs(self, ride: Ride) -> None:
        """Hear that the final dot of a mail goes out."""

    def arrived(self, rides: Sequence[Ride]) -> None:
        """Hear that mails are sent, which is committed."""

    def lost(self, ride: Ride) -> None:
        """Hear that a mail is not this worker's any more."""

    def strays(self, ride: Ride, ongoing: Ongoing | None) -> None:
        """Take a mail over to bring it to its end; None: nothing is said of it."""


class Stream:
    """The conversations of one pass."""

    def __init__(self, lines: Lines, passengers: Passengers) -> None:
        """Stream over these connections."""
        self._lines = lines
        self._passengers = passengers
        self._conversations: dict[Connection, Conversation] = {}
        self._selector = DefaultSelector()
        self._selector.register(lines.bell, EVENT_READ)
        self._accepted: list[Arrived] = []
        self._writer = Writer(USING, ADVANCE)
        self._session: object = None  # of the writer, which is listened to
        self._writer_fd = -1
        self._commit: Commit | None = None  # on its way
        self._held_up: list[Conversation] = []  # which go on when it is done
        self._muted: set[Conversation] = set()  # of those, which are heard again then
        self._ready_since: float | None = None
        self._looked_at = 0.0
        self._at = ""  # when servers were listened to, once one of them has said something
        self._most = 0

    @property
    def rides(self) -> list[Ride]:
        """The mails on their way."""
        going = [ride for each in self._conversations.values() for ride in each.rides]
        going += [ride for ride, _ in self._accepted]
        return going + (self._commit.sent if self._commit is not None else [])

    @property
    def is_busy(self) -> bool:
        """Whether a mail is on its way."""
        if self._accepted or self._commit is not None:
            return True
        return not all(each.is_idle for each in self._conversations.values())

    @property
    def size(self) -> int:
        """How many connections there are, or will be in a moment."""
        return len(self._conversations) + self._lines.opening

    @property
    def busy(self) -> int:
        """How many connections have something to do."""
        return sum(not each.is_idle for each in self._conversations.values())

    def resize(self, *, waiting: int, most: int) -> None:
        """
        Take connections for so many mails that wait, and keep at most so many in all.

        What is too many is given back after the mail that is on its way there.
        """
        self._most = most
        while waiting and self.size < min(most, self.busy + waiting):
            warm = self._lines.take_warm()
            if warm is None:
                self._lines.open()
            else:
                self._add(warm)
        if self.size > most:
            for each in [each for each in self._conversations.values() if each.is_idle]:
                if self.size > most:
                    self._leave(each)

    def turn(self, seconds: float) -> None:
        """Let every mail go on as far as it can, waiting for servers so long at most."""
        if self._commit is None:
            self._board()
            seconds = self._commit_in_time(seconds)
        # Written to servers while the database writes: only the final dots wait for it.
        for each in [each for each in self._conversations.values() if each.out]:
            if not each.is_stuck:
                self._say(each)
        if self._commit is not None:
            self._prepare()
        self._listen(seconds)

    def halt(self) -> None:
        """Wait for what is being written, and say nothing more."""
        commit = self._commit
        if commit is not None:
            self._conclude(commit, self._take_answer(commit))

    def drop_following(self) -> list[Ride]:
        """Return the mails that wait behind others, and do not send them."""
        if self._commit is not None:
            self._end_commit(self._commit)
        return [ride for each in self._conversations.values() for ride in each.drop_following()]

    def close(self) -> None:
        """Give all connections back; what was on its way over them is broken off."""
        self.halt()
        for each in list(self._conversations.values()):
            self._leave(each)
        self._writer.close()
        self._lines.close()
        self._selector.close()

    def _commit_in_time(self, seconds: float) -> float:
        """Commit what there is, but wait a moment for more; return how long to wait."""
        ready, all_wait = self._state()
        if not ready:
            return seconds
        now = time.monotonic()
        if self._ready_since is None:
            self._ready_since = now
        if not all_wait and now - self._ready_since < LINGER_SECONDS:
            return LINGER_SECONDS
        self._ready_since = None
        self._begin_commit()
        return seconds

    def _state(self) -> tuple[bool, bool]:
        """Say if there is something to commit, and if no server is to say something before."""
        ready, all_wait = bool(self._accepted), True
        for each in self._conversations.values():
            ready = ready or each.boarding is not None or each.wants_dot
            all_wait = all_wait and not each.is_listening
        return ready, all_wait

    def _board(self) -> None:
        for each in list(self._conversations.values()):
            if not each.is_idle:
                continue
            if each.connection.messages >= MOST_MESSAGES:
                self._leave(each)
            else:
                each.boarding = self._next_for(each)

    def _next_for(self, each: Conversation) -> Ride | None:
        if self.size > self._most:
            return None
        while (ride := self._passengers.next()) is not None:
            if each.takes(ride):
                return ride
            self._passengers.strays(ride, None)
        return None

    def _begin_commit(self) -> None:
        sent, self._accepted = self._accepted, []
        waiting = [each for each in self._conversations.values() if each.boarding or each.wants_dot]
        dots = [each.going for each in waiting if each.wants_dot and each.going]
        for each in waiting:
            if each.wants_dot and each.connection.messages < MOST_MESSAGES:
                each.boarding = self._next_for(each)
        begun = [each.boarding for each in waiting if each.boarding]
        self._commit = Commit(self._writer, sent=sent, dots=dots, begun=begun)
        self._held_up = waiting
        if self._commit.is_waited_for:
            self._listen_to_writer()
        else:
            self._end_commit(self._commit)

    def _end_commit(self, commit: Commit) -> None:
        waiting, self._held_up = self._held_up, []
        muted, self._muted = self._muted, set()
        if commit.is_waited_for:
            for each in muted:
                self._selector.register(each.connection, EVENT_READ, each)
        else:  # nobody has listened meanwhile
            muted = {each for each in waiting if each.connection.is_gone()}
        changed = self._take_answer(commit)
        for each in waiting:
            if self._conversations.get(each.connection) is not each:
                continue  # it broke off meanwhile
            if changed is None:
                self._part(each)
            else:
                self._go_on(each, changed, has_hung_up=each in muted)
        self._conclude(commit, changed)

    def _take_answer(self, commit: Commit) -> set[int] | None:
        """Return the ids of the mails that go on; None if nothing was written."""
        self._commit = None
        try:
            return commit.finish()
        except Exception as error:  # noqa: BLE001 (what cannot be written together may be alone)
            logger.warning("steps_not_written error=%s", type(error).__name__)
            return None

    def _conclude(self, commit: Commit, changed: set[int] | None) -> None:
        """Account for the mails that were to be sent; nobody waits for that."""
        if changed is None:
            for ride in commit.sent:
                self._stray(ride, is_over=True)
            return
        self._passengers.arrived([ride for ride in commit.sent if ride.row_id in changed])
        for ride in commit.sent:
            if ride.row_id not in changed:
                self._passengers.lost(ride)

    def _go_on(self, each: Conversation, changed: set[int], *, has_hung_up: bool) -> None:
        """Say what has been waiting for the commit."""
        following, each.boarding = each.boarding, None
        if following is not None:
            following.is_begun = following.row_id in changed
            if not following.is_begun:
                self._passengers.lost(following)
                following = None
        ride = each.going
        if ride is not None and ride.row_id not in changed:
            self._passengers.lost(ride)
            each.going, each.coming = None, following
            self._part(each, hangs_up=True)  # without its dot the server throws it away
        elif has_hung_up:
            each.coming = following
            self._part(each, end=ConnectionError("the server hung up before the final dot"))
        else:
            if ride is not None:
                self._passengers.departs(ride)
                each.end(following)
            elif following is not None:
                each.begin(following)
            self._say(each)

    def _prepare(self) -> None:
        """Make ready, while the database writes, what is said next."""
        features = next((each.connection.features for each in self._held_up), None)
        if features is not None:
            for ride in self._passengers.coming(len(self._conversations)):
                ride.prepare(features)

    def _listen_to_writer(self) -> None:
        session = self._writer.session
        if self._session is not session:
            self._stop_listening_to_writer()
            self._writer_fd = self._selector.register(session.fileno(), EVENT_READ, self._writer).fd
            self._session = session

    def _stop_listening_to_writer(self) -> None:
        if self._session is not None:
            self._selector.unregister(self._writer_fd)
            self._session = None

    def _listen(self, seconds: float) -> None:
        is_written = False
        self._at = ""
        for key, ready in self._selector.select(seconds):
            if key.data is None:
                for connection in self._lines.take_opened():
                    self._add(connection)
            elif key.data is self._writer:
                is_written = self._writer.is_answered()
                if self._commit is None:  # its server takes leave
                    self._stop_listening_to_writer()
            elif ready == EVENT_WRITE:
                self._say(key.data)
            elif key.data in self._held_up:
                self._selector.unregister(key.data.connection)
                self._muted.add(key.data)
            elif key.data.connection in self._conversations:
                self._hear(key.data)
        if is_written and self._commit is not None:
            self._end_commit(self._commit)
        self._look_for_late()

    def _look_for_late(self) -> None:
        now = time.monotonic()
        if now - self._looked_at > LOOK_SECONDS:
            self._looked_at = now
            for each in [each for each in self._conversations.values() if each.is_overdue(now)]:
                late = TimeoutError(f"no reply within {each.seconds_allowed:g} s")
                self._part(each, end=late)

    def _hear(self, each: Conversation) -> None:
        data, end = self._lines.read(each.connection)
        if data:
            each.hear(data)
        if each.accepted:
            self._at = self._at or timezone.now().isoformat()
            arrived, each.accepted = each.accepted, []
            self._accepted += [(ride, arrival(ride, said, at=self._at)) for ride, said in arrived]
        if each.refused:
            refused, each.refused = each.refused, []
            for ride in refused:
                self._stray(ride, is_over=True)
        if end is not None or each.is_astray:
            self._part(each, end=end)

    def _say(self, each: Conversation) -> None:
        if not each.out and not each.is_stuck:
            return
        each.out, end = self._lines.write(each.connection, each.out)
        if end is not None:
            data, _ = self._lines.read(each.connection)  # the server may have said why
            each.heard += data
            self._part(each, end=end)
        elif bool(each.out) is not each.is_stuck:
            each.is_stuck = bool(each.out)
            wanted = EVENT_READ | (EVENT_WRITE if each.out else 0)
            self._selector.modify(each.connection, wanted, each)

    def _add(self, connection: Connection) -> None:
        each = Conversation(connection=connection)
        self._conversations[connection] = each
        self._selector.register(connection, EVENT_READ, each)

    def _part(
        self, each: Conversation, *, end: OSError | None = None, hangs_up: bool = False
    ) -> None:
        """Take leave of a conversation that is not the usual one any more, or has ended."""
        self._forget(each)
        unsaid = len(each.out)
        if each.ending is not None:
            unsaid -= each.forgo()
            end = end or smtplib.SMTPServerDisconnected("the server's answer makes no sense")
        goes_on = each.going is not None and end is None and not hangs_up
        if not goes_on:
            each.connection.close()
            self._lines.give_back(each.connection)
        ride = each.ending or each.going
        if ride is not None:
            ride.said -= max(0, unsaid)
            ride.heard += each.heard
            self._stray(ride, is_over=not goes_on, end=end)
        for ride in (each.coming, each.boarding):
            if ride is not None:
                self._passengers.strays(ride, None)

    def _stray(self, ride: Ride, *, is_over: bool, end: OSError | None = None) -> None:
        assert ride.connection is not None
        transcript = Transcript(said=ride.said, heard=ride.heard, is_over=is_over, end=end)
        ongoing = Ongoing(
            ride=ride, connection=ride.connection, transcript=transcript, pool=self._lines.pool
        )
        self._passengers.strays(ride, ongoing)

    def _leave(self, each: Conversation) -> None:
        self._forget(each)
        if not each.is_idle:
            each.connection.close()
        self._lines.give_back(each.connection)

    def _forget(self, each: Conversation) -> None:
        del self._conversations[each.connection]
        self._selector.unregister(each.connection)
