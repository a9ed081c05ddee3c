"""A gateway in this process, with real sockets, on the test database."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any, Self

import pytest
import uvicorn
from django.contrib.auth import get_user_model
from django.core.asgi import get_asgi_application

from realtime import gateway, tokens
from tests.conftest import wait_until
from tests.realtime.sockets import Sockets


class Site:
    """The site with its gateway, served by uvicorn on a thread."""

    def __init__(self) -> None:
        self.application = gateway.wrap(get_asgi_application())
        config = uvicorn.Config(
            self.application, port=0, log_config=None, access_log=False, lifespan="on"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        wait_until(lambda: self._server.started, what="the site is served")
        port = self._server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def gateway(self) -> Any:
        return self.application.gateway

    def run(self, work: Any) -> Any:
        """Run a coroutine on the loop that serves."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(20)

    @property
    def loop(self) -> Any:
        return self.gateway.server.manager.thread.get_loop()

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join(20)
        assert not self._thread.is_alive()


@pytest.fixture(scope="module")
def served(django_db_setup, django_db_blocker) -> Iterator[Site]:
    with Site() as site:
        yield site
        django_db_blocker.unblock()  # for its last words
    django_db_blocker.restore()


@pytest.fixture
def site(served, transactional_db) -> Iterator[Site]:
    """The site that all tests share, without clients before and after."""
    yield served
    wait_until(lambda: not len(served.gateway.subscriptions), what="all clients have left")


@pytest.fixture
def own_site(transactional_db) -> Iterator[Site]:
    """A site that the test may stop."""
    with Site() as site:
        yield site


@pytest.fixture
def sockets(transactional_db, request) -> Iterator[Sockets]:
    # Torn down after it: the site waits for its clients to leave.
    if "site" in request.fixturenames:
        request.getfixturevalue("site")
    with Sockets() as sockets:
        yield sockets


@pytest.fixture
def make_user(transactional_db) -> Any:
    def make(name: str = "anna", **fields: Any) -> Any:
        return get_user_model().objects.create_user(name, password="only-here", **fields)

    return make


@pytest.fixture
def client_of(site, sockets) -> Any:
    """Connect a client of a user by token."""

    def connect(user: Any, *topics: str) -> Any:
        client = sockets.connect(site.url, token=tokens.token(user))
        for topic in topics:
            assert client.subscribe(topic) == {"ok": True}
        return client

    return connect
