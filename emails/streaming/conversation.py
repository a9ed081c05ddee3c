"""
What goes over one connection when nothing unexpected happens. No I/O: bytes in, bytes out.

Where the server offers PIPELINING, the final dot of a mail goes out together with the commands
of the next one (RFC 2920 §3.1), so that a mail is one round trip. Any reply but the usual one
leads astray: from there on the mail is a matter of ``emails.transactions``, which knows them all.
"""

from __future__ import annotations

import re
import sys
import time
from collections import deque
from dataclasses import dataclass, field

from emails.smtp import Connection
from emails.streaming.ride import Ride
from emails.transactions import END_OF_MAIL, size_limit

LONGEST_LINE = 8192  # as in smtplib
ONE_LINE = re.compile(rb"([0-9])[0-9]{2}(?:[ \r][^\n]*)?\n")  # a reply as nearly all are


@dataclass(kw_only=True, eq=False, slots=True)
class Conversation:
    """One connection that is streamed over."""

    connection: Connection
    ending: Ride | None = None  # its final dot is out
    going: Ride | None = None  # its commands are out, or being said
    coming: Ride | None = None  # begun, and nothing is said of it
    boarding: Ride | None = None  # to be begun
    accepted: list[tuple[Ride, bytes]] = field(default_factory=list)  # with the last reply
    refused: list[Ride] = field(default_factory=list)  # at the final dot
    is_astray: bool = False
    is_stuck: bool = False  # the server does not take what is to be written
    out: bytes = b""  # what is to be written
    deadline: float = float("inf")
    heard: bytes = b""  # what is not a whole reply yet
    is_pipelining: bool = field(init=False)
    _size_limit: int = field(init=False)
    _commands: deque[bytes] = field(default_factory=deque)  # that wait for the reply to the last
    _due: int = 0  # replies to the commands of the mail that is going

    def __post_init__(self) -> None:
        """Look at what the server offers."""
        features = self.connection.features
        self.is_pipelining = "pipelining" in features
        self._size_limit = size_limit(features) or sys.maxsize

    def takes(self, ride: Ride) -> bool:
        """Whether the mail is not above the server's SIZE."""
        return len(ride.envelope.raw) <= self._size_limit

    @property
    def rides(self) -> list[Ride]:
        """The mails on their way here."""
        every = (self.ending, self.going, self.coming, self.boarding)
        return [ride for ride in every if ride is not None]

    @property
    def is_idle(self) -> bool:
        """Whether a mail may board here."""
        return (
            self.ending is None
            and self.going is None
            and self.coming is None
            and self.boarding is None
        )

    @property
    def is_listening(self) -> bool:
        """Whether the server is to say something next, or to take what is said."""
        return self.ending is not None or self.is_stuck or bool(self._due)

    def is_overdue(self, now: float) -> bool:
        """Whether the server has taken longer for its reply than it may."""
        return now > self.deadline and self.is_listening

    @property
    def wants_dot(self) -> bool:
        """Whether all of a mail is said but its final dot, or will be in a moment."""
        return self.going is not None and not self.is_listening

    @property
    def seconds_allowed(self) -> float:
        """How long the server may take for what it is to do now."""
        timeouts = self.connection.timeouts
        return timeouts.command if self.ending is None else timeouts.final

    def begin(self, ride: Ride) -> None:
        """Say of a mail what can be said before the server has answered."""
        self.going = ride
        ride.connection = self.connection
        self.connection.messages += 1
        ride.prepare(self.connection.features)
        self._due = len(ride.lines)
        if self.is_pipelining:
            self._say(ride, b"".join(ride.lines))
        else:
            self._commands = deque(ride.lines)
            self._say(ride, self._commands.popleft())
        self._expect()

    def end(self, following: Ride | None) -> None:
        """Say the final dot, and begin the mail that follows."""
        ride = self.going
        assert ride is not None
        self.going, self.ending = None, ride
        ride.dot_is_out = True
        self._say(ride, END_OF_MAIL)
        if following is not None and self.is_pipelining:
            self.begin(following)
        else:
            self.coming = following
            self._expect()

    def drop_following(self) -> list[Ride]:
        """
        Return the mails of which the server may not have taken anything yet, and forget them.

        What was said of one before the reply to the final dot of another is not unsaid by
        that: the connection cannot be used any more once that reply is there.
        """
        dropped = [self.coming, self.boarding]
        if self.ending is not None:
            dropped.append(self.going)
            self.going, self._due = None, 0
        self.coming = self.boarding = None
        return [ride for ride in dropped if ride is not None]

    def forgo(self) -> int:
        """
        Take back what was said of a mail whose turn will not come; return how many bytes.

        The server answers in order: it has not looked at this one yet.
        """
        said = 0
        if self.going is not None:
            said = self.going.said
            self.coming, self.going, self._due = self.going, None, 0
        return said

    def hear(self, data: bytes) -> None:
        """Take what the server said."""
        heard, start = self.heard + data, 0
        while not self.is_astray:
            found = ONE_LINE.match(heard, start)
            end = found.end() if found else end_of_reply(heard, start)
            if not end:
                break
            reply = heard[start:end]
            kind = found[1] if found else code_class(reply)
            if self.ending is not None:
                self._take_last(self.ending, reply, kind)
            elif self.going is not None and self._due:
                self._take_next(self.going, reply, kind)
            else:  # out of turn
                self.is_astray = True
                break
            start = end
        self.heard = heard = heard[start:]
        if heard and (len(heard) > LONGEST_LINE or not self.is_listening):
            self.is_astray = True
        self._expect()

    def _take_last(self, ride: Ride, reply: bytes, kind: bytes) -> None:
        ride.heard += reply
        self.ending = None
        if kind == b"2":
            self.accepted.append((ride, reply))
        else:
            self.refused.append(ride)
            if reply.startswith(b"421"):  # it hangs up
                self.forgo()
                self.is_astray = True
                return
        if self.coming is not None:
            following, self.coming = self.coming, None
            self.begin(following)

    def _take_next(self, ride: Ride, reply: bytes, kind: bytes) -> None:
        ride.heard += reply
        self._due -= 1
        if self._due == 0:
            self.is_astray = not reply.startswith(b"354")
            if not self.is_astray:
                self._say(ride, ride.body)
        elif kind != b"2":
            self.is_astray = True
        elif self._commands:
            self._say(ride, self._commands.popleft())

    def _say(self, ride: Ride, data: bytes) -> None:
        ride.said += len(data)
        self.out += data

    def _expect(self) -> None:
        """Give the server its time from now on."""
        self.deadline = time.monotonic() + self.seconds_allowed


def end_of_reply(heard: bytes, start: int = 0) -> int:
    """Return where a reply ends that begins there (RFC 5321 §4.2.1); 0 while it is not whole."""
    while (end := heard.find(b"\n", start) + 1) and heard[start + 3 : start + 4] == b"-":
        start = end
    return end


def code_class(reply: bytes) -> bytes:
    """Return the first digit of the code that a reply ends with; nothing if it has none."""
    last = reply[reply.rfind(b"\n", 0, -1) + 1 :]
    return last[:1] if last[:3].isdigit() and last[3:4] in (b" ", b"\r", b"\n") else b""
