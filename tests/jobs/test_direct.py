from __future__ import annotations

import psycopg
import pytest
from django.db import connection as djangos
from psycopg import sql

from jobs import direct
from jobs.errors import DatabaseSilentError, SettingError

pytestmark = pytest.mark.django_db


def test_a_direct_connection_reaches_the_database_that_django_uses():
    with direct.connect(application_name="engineroom-test") as connection:
        found = connection.execute(
            "SELECT current_database(), current_setting('application_name')"
        ).fetchone()

    assert found == (djangos.settings_dict["NAME"], "engineroom-test")


def test_the_direct_url_is_used_where_it_is_set(settings, proxy):
    settings.DIRECT_DATABASE_URL = proxy.url

    with direct.connect(application_name="engineroom-test") as connection:
        found = connection.info.port, connection.info.dbname

    assert found == (proxy.port, djangos.settings_dict["NAME"])


def test_the_way_of_django_ignores_the_direct_url(settings):
    settings.DIRECT_DATABASE_URL = "postgres://nobody@127.0.0.1:1/nothing"

    with direct.connect_like_django(application_name="engineroom-test") as connection:
        assert direct.run(connection, b"SELECT 1", limit_seconds=10) == [("1",)]


def test_the_transaction_is_left_to_the_caller_where_he_asks_for_it():
    with direct.connect(application_name="engineroom-test", autocommit=False) as connection:
        connection.execute("SELECT 1")

        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS


@pytest.mark.parametrize(
    "url",
    ["postgres://me:hush@host/db?conn_max_age=60", "postgres://me:hush@[::1/db", "what=is=this"],
)
def test_a_direct_url_that_libpq_cannot_read_is_named_without_its_password(settings, url):
    settings.DIRECT_DATABASE_URL = url

    with pytest.raises(SettingError, match=r"^DIRECT_DATABASE_URL=") as caught:
        direct.connect(application_name="engineroom-test")

    assert "hush" not in str(caught.value)


def test_statements_give_the_rows_of_the_last_one_as_text():
    with direct.connect(application_name="engineroom-test") as connection:
        rows = direct.run(
            connection, b"SELECT 1; SELECT 'a', NULL UNION ALL SELECT 'b', '2'", limit_seconds=10
        )

    assert rows == [("a", None), ("b", "2")]


def test_what_is_set_for_some_statements_ends_with_them():
    off = sql.SQL("SET LOCAL synchronous_commit = off")
    show = sql.SQL("SHOW synchronous_commit")
    with direct.connect(application_name="engineroom-test") as connection:
        inside = direct.run(connection, direct.compose(off, show), limit_seconds=10)
        outside = direct.run(connection, direct.compose(show), limit_seconds=10)

    assert (inside, outside) == ([("off",)], [("on",)])


def test_a_statement_that_takes_too_long_is_given_up():
    with (
        direct.connect(application_name="engineroom-test") as connection,
        pytest.raises(DatabaseSilentError, match=r"within 0\.2 s"),
    ):
        direct.run(connection, b"SELECT pg_sleep(2)", limit_seconds=0.2)


def test_a_database_that_stops_passing_bytes_is_given_up(settings, proxy):
    settings.DIRECT_DATABASE_URL = proxy.url
    with direct.connect(application_name="engineroom-test") as connection:
        proxy.freeze()

        with pytest.raises(DatabaseSilentError):
            direct.run(connection, b"SELECT 1", limit_seconds=0.2)


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        (b"SELECT * FROM no_such_table", psycopg.errors.UndefinedTable),
        (b"SELECT 1/0", psycopg.errors.DivisionByZero),
        (b"SELECT 1; SELEC", psycopg.errors.SyntaxError),
    ],
)
def test_a_statement_that_fails_raises_what_psycopg_would(statement, error):
    with (
        direct.connect(application_name="engineroom-test") as connection,
        pytest.raises(error),
    ):
        direct.run(connection, statement, limit_seconds=10)


def test_a_connection_that_the_server_ended_is_reported_as_lost(terminate):
    with direct.connect(application_name="engineroom-test") as connection:
        terminate(connection.info.backend_pid)

        with pytest.raises(direct.LOST):
            direct.run(connection, b"SELECT 1", limit_seconds=10)


def test_names_and_values_are_quoted():
    statement = direct.compose(
        sql.SQL("SELECT {}").format(sql.Literal("it's")),
        sql.SQL("LISTEN {}").format(sql.Identifier('a "b"')),
    )

    assert statement == b"""SELECT 'it''s'; LISTEN "a ""b\"\"\""""
