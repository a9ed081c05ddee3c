"""Connections are kept, counted, checked after a rest, and replaced."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from emails.envelopes import Envelope
from emails.errors import ChannelDown, PoolClosed
from emails.pool import MOST_IDLE_SECONDS, MOST_MESSAGES, Pool
from emails.smtp import Connection, Server, Timeouts, open_connection
from tests.emails.smtpd import DROP, HANG, ScriptedServer, unused_port, wait_until

MAIL = Envelope(mail_from="f@example.org", recipients=("a@example.org",), raw=b"S: x\r\n\r\nhi\r\n")


class Clock:
    """A clock that goes on when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def pool_to(server: ScriptedServer, *, size: int = 2, clock: Clock | None = None) -> Pool:
    def opener() -> Connection:
        return open_connection(
            Server(host="127.0.0.1", port=server.port), timeouts=Timeouts(command=20, final=20)
        )

    return Pool(opener, size=size, clock=clock or Clock())


def send(pool: Pool) -> None:
    with pool.connection() as connection:
        assert connection.deliver(MAIL, before_dot=lambda: None).accepted


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def test_one_connection_serves_one_thread_for_many_mails(server: ScriptedServer) -> None:
    pool = pool_to(server)

    for _ in range(5):
        send(pool)
    pool.close()

    assert server.connections == 1
    assert server.stages()[-1] == "QUIT"


def test_a_connection_is_replaced_after_its_last_message(server: ScriptedServer) -> None:
    pool = pool_to(server)

    for _ in range(MOST_MESSAGES + 1):
        send(pool)
    pool.close()

    assert server.connections == 2
    assert server.stages(connection=1).count("dot") == MOST_MESSAGES


def test_a_connection_that_rested_too_long_is_closed(server: ScriptedServer) -> None:
    clock = Clock()
    pool = pool_to(server, clock=clock)
    send(pool)

    clock.now += MOST_IDLE_SECONDS
    pool.close_idle()

    assert server.stages()[-1] == "QUIT"
    send(pool)
    pool.close()
    assert server.connections == 2


def test_a_rested_connection_is_asked_and_used_again(server: ScriptedServer) -> None:
    clock = Clock()
    pool = pool_to(server, clock=clock)
    send(pool)

    clock.now += 30
    send(pool)
    pool.close()

    assert server.connections == 1
    assert server.stages().count("RSET") == 1


def test_a_rested_connection_that_died_is_replaced_before_the_mail(server: ScriptedServer) -> None:
    clock = Clock()
    pool = pool_to(server, clock=clock)
    send(pool)

    server.drop_all()
    clock.now += 30
    send(pool)
    pool.close()

    assert server.connections == 2
    assert len(server.mails) == 2


def test_a_broken_connection_is_not_kept(server: ScriptedServer) -> None:
    pool = pool_to(server)
    server.script = lambda step: DROP if step.stage == "dot" else None
    with pool.connection() as connection:
        assert connection.deliver(MAIL, before_dot=lambda: None).uncertain

    server.script = None
    send(pool)
    pool.close()

    assert server.connections == 2


def test_an_exception_in_between_gives_the_place_back(server: ScriptedServer) -> None:
    pool = pool_to(server, size=1)

    with pytest.raises(KeyError), pool.connection():
        raise KeyError

    send(pool)
    pool.close()


def test_a_failed_opening_gives_the_place_back() -> None:
    with unused_port() as port:
        pool = Pool(lambda: open_connection(Server(host="127.0.0.1", port=port)), size=1)
        for _ in range(3):
            with pytest.raises(ChannelDown), pool.connection():
                pytest.fail("nobody listens")


def test_threads_use_different_connections_at_the_same_time(server: ScriptedServer) -> None:
    pool = pool_to(server, size=3)
    together = threading.Barrier(3)
    seen: list[Connection] = []

    def work() -> None:
        with pool.connection() as connection:
            seen.append(connection)
            together.wait(timeout=20)
            assert connection.deliver(MAIL, before_dot=lambda: None).accepted

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    pool.close()

    assert len(set(map(id, seen))) == 3
    assert len(server.mails) == 3


def test_no_more_connections_than_the_size_are_ever_open(server: ScriptedServer) -> None:
    pool = pool_to(server, size=2)

    threads = [threading.Thread(target=send, args=(pool,)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    pool.close()

    assert server.connections <= 2
    assert len(server.mails) == 12


def test_a_closed_pool_lends_nothing_and_closes_what_comes_back(server: ScriptedServer) -> None:
    pool = pool_to(server)
    with pool.connection() as connection:
        pool.close()
        assert connection.deliver(MAIL, before_dot=lambda: None).accepted

    assert not connection.usable
    assert server.stages()[-1] == "QUIT"
    with pytest.raises(PoolClosed), pool.connection():
        pytest.fail("closed")


def test_abort_ends_every_conversation(server: ScriptedServer) -> None:
    server.script = lambda step: HANG if step.stage == "dot" else None
    pool = pool_to(server)
    uncertain: list[bool] = []

    def work() -> None:
        with pool.connection() as connection:
            uncertain.append(connection.deliver(MAIL, before_dot=lambda: None).uncertain)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_until(lambda: server.stages().count("dot") == 2)
    pool.abort()
    for thread in threads:
        thread.join(timeout=10)

    assert uncertain == [True, True]
