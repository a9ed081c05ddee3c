"""A fleet of workers on the test database, and a mail server."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import django
import pytest
from django.db import connection

from tests.crash.harness import Fleet, Sink, url_of


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/crash/" in item.nodeid:
            item.add_marker(pytest.mark.crash)


@pytest.fixture
def make_sink(tmp_path) -> Iterator[Callable[..., Sink]]:
    """Start mail servers that end with the test."""
    with contextlib.ExitStack() as stack:

        def make(*options: str) -> Sink:
            log = tmp_path / "sink.jsonl"
            return stack.enter_context(Sink(log=log, options=options))

        yield make


@pytest.fixture
def make_fleet(transactional_db, tmp_path) -> Iterator[Callable[..., Fleet]]:
    """Make fleets on the test database; they end before its tables are emptied."""
    with contextlib.ExitStack() as stack:

        def make(**environment: str) -> Fleet:
            url = url_of(connection.settings_dict)
            return stack.enter_context(Fleet(tmp_path, database_url=url, **environment))

        yield make


@pytest.fixture
def queue_mail(settings) -> None:
    """Make Django's mail functions queue, as they do outside tests."""
    backend = "emails.backend.QueueBackend"
    if django.VERSION >= (6, 1):
        settings.MAILERS = {"default": {"BACKEND": backend}}
    else:
        settings.EMAIL_BACKEND = backend


@pytest.fixture
def figures(capsys) -> Callable[..., None]:
    """Print what a test has measured, past pytest's capture."""

    def show(**values: Any) -> None:
        with capsys.disabled():
            print("  [" + ", ".join(f"{name}={value}" for name, value in values.items()) + "]")

    return show
