"""The server of a worker without a site."""

from __future__ import annotations

import http.client
import json
import socket

import pytest

from jobs.errors import PortInUseError
from jobs.health import answers
from jobs.workers.health import MOST_CONNECTIONS, HealthServer
from tests.conftest import wait_until


@pytest.fixture
def server():
    server = HealthServer("127.0.0.1", 0)
    server.start()
    yield server
    server.stop()


def ask(server, path, *, method="GET"):
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    try:
        client.request(method, path)
        response = client.getresponse()
        return response, response.read()
    finally:
        client.close()


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/readyz?from=somewhere"])
def test_a_worker_answers_as_the_site_does(server, path):
    response, content = ask(server, path)

    assert response.status == 200
    assert response.getheader("Content-Type") == "application/json"
    assert response.getheader("Cache-Control") == "no-store"
    assert json.loads(content)["reasons"] == []


def test_a_worker_says_which_loop_is_silent(server, monkeypatch, process, clock):
    process.register("emails.processor", period_seconds=1)
    clock.now += 61
    monkeypatch.setattr(answers.live, "__defaults__", (process,))

    response, content = ask(server, "/healthz")

    assert response.status == 503
    assert b"emails.processor" in content


def test_a_worker_answers_head_without_a_body(server):
    response, content = ask(server, "/healthz", method="HEAD")

    assert (response.status, content) == (200, b"")


@pytest.mark.parametrize("path", ["/", "/admin/", "/healthz/", "/%2e%2e/readyz"])
def test_a_worker_serves_nothing_else(server, path):
    response, _ = ask(server, path)

    assert response.status == 404


def test_a_worker_is_not_written_to(server):
    response, _ = ask(server, "/healthz", method="POST")

    assert response.status == 501


def test_an_address_in_use_is_named_with_its_setting(server):
    with pytest.raises(PortInUseError, match=rf"^WORKER_HEALTH=127\.0\.0\.1:{server.port} "):
        HealthServer("127.0.0.1", server.port)


def test_an_address_of_another_machine_is_refused():
    with pytest.raises(PortInUseError, match="WORKER_HEALTH=192"):
        HealthServer("192.0.2.1", 8080)


def test_a_stopped_server_frees_its_address():
    first = HealthServer("127.0.0.1", 0)
    first.start()
    port = first.port

    first.stop()

    second = HealthServer("127.0.0.1", port)
    assert second.port == port
    second.stop()


def test_a_client_that_drips_is_cut_off():
    server = HealthServer("127.0.0.1", 0, connection_seconds=0.2)
    server.start()
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=20) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")

            assert client.recv(100) == b""
    finally:
        server.stop()


def test_clients_that_say_nothing_keep_no_more_than_a_few_threads(server):
    silent = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(MOST_CONNECTIONS)]
    wait_until(lambda: len(server._server._open) == MOST_CONNECTIONS)
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as one_more:
        assert one_more.recv(100) == b""

    for client in silent:
        client.close()

    wait_until(lambda: not server._server._open)
    assert ask(server, "/healthz")[0].status == 200
