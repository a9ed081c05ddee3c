from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from django.db import connection, transaction
from psycopg import sql

from jobs import notifier
from jobs.notifier import FOLD_SECONDS, Notifier
from jobs.postman import Note
from tests.conftest import wait_until
from tests.jobs.conftest import own_database

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("quiet_notifier"),
]


def listen(ear, channel="work"):
    ear.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))


def hear(ear, *, seconds=20.0, most=1):
    return [news.channel for news in ear.notifies(timeout=seconds, stop_after=most)]


def hear_nothing(ear):
    """Everything that was sent before this has come when the last word has."""
    ear.execute("LISTEN last_word")
    notifier.poke("last_word")
    return hear(ear) == ["last_word"]


@transaction.atomic
def wake_and_fail():
    notifier.wake("work")
    raise ZeroDivisionError


@pytest.mark.django_db(transaction=True)
def test_a_commit_wakes_those_who_listen(ear):
    listen(ear)

    with transaction.atomic():
        notifier.wake("work")

    assert hear(ear) == ["work"]


@pytest.mark.django_db(transaction=True)
def test_nobody_is_woken_before_the_commit(ear):
    listen(ear)

    with transaction.atomic():
        notifier.wake("work")
        assert hear_nothing(ear)


@pytest.mark.django_db(transaction=True)
def test_a_rollback_wakes_nobody(ear):
    listen(ear)

    with pytest.raises(ZeroDivisionError):
        wake_and_fail()

    assert hear_nothing(ear)


@pytest.mark.django_db(transaction=True)
def test_a_savepoint_that_is_rolled_back_wakes_nobody(ear):
    listen(ear)

    with transaction.atomic(), pytest.raises(ZeroDivisionError):
        wake_and_fail()

    assert hear_nothing(ear)


@pytest.mark.django_db(transaction=True)
def test_the_committing_connection_sends_no_notify_itself(ear):
    listen(ear)

    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (committer,) = cursor.fetchone()
        notifier.wake("work")

    (news,) = ear.notifies(timeout=20, stop_after=1)
    assert news.pid != committer


@pytest.mark.parametrize("channel", ["Work Queue", 'a"b', "it's", "SELECT", "größe", "x" * 63])
def test_any_name_is_a_channel(ear, channel):
    listen(ear, channel)

    notifier.poke(channel)

    assert hear(ear) == [channel]


def test_pokes_in_quick_succession_are_folded_and_the_last_one_is_not_lost(ear):
    listen(ear)
    notifier.poke("work")
    heard = hear(ear)  # the connection is there: the first of the others need not wait for it
    began_at = time.monotonic()

    for _ in range(2_000):
        notifier.poke("work")
    assert notifier.flush(20)

    slots = (time.monotonic() - began_at) / FOLD_SECONDS
    ear.execute("LISTEN last_word")
    notifier.poke("last_word")
    while "last_word" not in heard:
        heard += hear(ear)
    assert 2 <= heard.count("work") <= slots + 3


def test_each_channel_has_its_own_first_poke(ear):
    names = [f"channel {number}" for number in range(10)]
    for name in names:
        listen(ear, name)

    for name in names:
        notifier.poke(name)

    assert sorted(hear(ear, most=10)) == names


def test_a_connection_that_died_while_idle_costs_no_poke(ear, backends, terminate):
    listen(ear)
    kept = Notifier(linger_seconds=60)
    kept.add(Note("work"))
    assert hear(ear) == ["work"]
    (pid,) = backends("engineroom-notify")
    terminate(pid)
    wait_until(lambda: not backends("engineroom-notify"))

    kept.add(Note("work"))

    assert hear(ear) == ["work"]
    assert kept.close(time.monotonic() + 20)


def test_a_warm_connection_is_used_again(ear, backends):
    listen(ear)
    kept = Notifier(linger_seconds=60)
    kept.add(Note("work"))
    hear(ear)
    first = backends("engineroom-notify")

    kept.add(Note("work"))
    hear(ear)

    assert len(first) == 1
    assert backends("engineroom-notify") == first
    assert kept.close(time.monotonic() + 20)


def test_no_connection_is_kept_once_the_pokes_have_ceased(ear, backends):
    listen(ear)
    short = Notifier(linger_seconds=0.1)
    short.add(Note("work"))
    assert hear(ear) == ["work"]

    wait_until(lambda: not backends("engineroom-notify"))
    short.add(Note("work"))

    assert hear(ear) == ["work"]


def test_closing_ends_the_connection_and_the_next_poke_opens_one(ear, backends):
    listen(ear)
    notifier.poke("work")

    assert notifier.close(20)
    wait_until(lambda: not backends("engineroom-notify"))
    notifier.poke("work")

    assert hear(ear, most=2) == ["work", "work"]


def test_without_a_database_pokes_do_no_harm_and_go_out_when_it_is_back(
    ear, proxy, settings, caplog
):
    listen(ear)
    settings.DIRECT_DATABASE_URL = proxy.url
    proxy.refuse()
    for _ in range(100):
        notifier.poke("work")
    wait_until(lambda: notifier.notifier_of("default")._failures >= 2)
    proxy.accept_again()

    assert hear(ear) == ["work"]
    warnings = [record for record in caplog.records if "notify_failed" in record.message]
    assert len(warnings) == 1


def test_a_database_that_never_comes_back_is_given_up_until_the_next_poke(settings, monkeypatch):
    settings.DIRECT_DATABASE_URL = "postgresql://nobody@127.0.0.1:1/nothing"
    monkeypatch.setattr(notifier, "LONGEST_BACKOFF_SECONDS", 0.01)
    gone = Notifier(linger_seconds=0.1)

    gone.add(Note("work"))

    wait_until(lambda: gone._failures == notifier.MOST_FAILURES)
    wait_until(lambda: gone._thread is None)
    assert gone._is_idle()


def test_flushing_without_a_database_ends_in_time_and_says_so(settings):
    settings.DIRECT_DATABASE_URL = "postgresql://nobody@127.0.0.1:1/nothing"
    notifier.poke("work")

    assert not notifier.flush(0.3)


def test_a_probe_goes_out_at_once_after_failures(ear, proxy, settings, monkeypatch):
    listen(ear)
    settings.DIRECT_DATABASE_URL = proxy.url
    proxy.refuse()
    monkeypatch.setattr(notifier, "LONGEST_BACKOFF_SECONDS", 3600.0)
    monkeypatch.setattr(notifier, "MOST_FAILURES", 1)
    slow = Notifier(linger_seconds=60)
    slow.add(Note("work"))
    wait_until(lambda: slow.trouble)
    slow._retry_at = time.monotonic() + 3600
    proxy.accept_again()

    slow.add(Note("work", "nonce"), at_once=True)

    (news,) = ear.notifies(timeout=20, stop_after=1)
    assert news.payload == "nonce"
    assert slow.close(time.monotonic() + 20)


def test_a_channel_that_cannot_be_one_does_no_harm_to_the_next(ear, caplog):
    listen(ear)

    notifier.poke("")
    notifier.poke("work")

    assert notifier.flush(20)
    notifier.poke("work")
    assert hear(ear) == ["work"]
    assert "notify_failed" in caplog.text


def test_a_worker_in_the_same_process_hears_pokes_without_the_database():
    heard = []
    unsubscribe = notifier.subscribe(heard.append)

    notifier.poke("work")
    unsubscribe()
    notifier.poke("work")

    assert heard == ["work"]


def test_a_subscriber_that_raises_harms_neither_the_others_nor_the_caller(ear, caplog):
    listen(ear)
    heard = []
    ends = [notifier.subscribe(lambda _: 1 / 0), notifier.subscribe(heard.append)]

    notifier.poke("work")

    for end in ends:
        end()
    assert heard == ["work"]
    assert hear(ear) == ["work"]
    assert "notify_subscriber_failed channel=work" in caplog.text


SCRIPT = """
import json, multiprocessing, os, sys
import django
from django.conf import settings

settings.configure(DATABASES={"default": json.loads(sys.argv[1])}, USE_TZ=True)
django.setup()

from jobs import notifier


def poke(channel):
    notifier.poke(channel)


if __name__ == "__main__":
"""


def start(body):
    program = SCRIPT + "\n".join(f"    {line}" for line in body.splitlines())
    return subprocess.run(
        # fork() of a process with threads is what this is about, and warns from Python 3.12.
        [sys.executable, "-Werror", "-Wignore::DeprecationWarning", "-c", program, own_database()],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=40,
        check=False,
    )


def test_a_process_that_ends_right_after_its_poke_has_sent_it(ear):
    listen(ear)

    done = start("poke('work')")

    assert (done.returncode, done.stderr) == (0, "")
    assert hear(ear) == ["work"]


def test_a_child_of_multiprocessing_sends_what_it_poked(ear):
    listen(ear, "child")

    done = start(
        "poke('work')\n"
        "child = multiprocessing.get_context('fork').Process(target=poke, args=('child',))\n"
        "child.start()\n"
        "child.join()\n"
        "sys.exit(child.exitcode)"
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert hear(ear) == ["child"]


def test_parent_and_forked_child_each_send_on_a_connection_of_their_own(ear):
    for name in ("before", "child", "after"):
        listen(ear, name)

    done = start(
        "poke('before')\n"
        "assert notifier.flush(20)\n"
        "if os.fork() == 0:\n"
        "    poke('child')\n"
        "    sys.exit(0 if notifier.flush(20) else 1)\n"
        "_, status = os.wait()\n"
        "poke('after')\n"
        "sys.exit(status)"
    )

    assert (done.returncode, done.stderr) == (0, "")
    news = {one.channel: one.pid for one in ear.notifies(timeout=20, stop_after=3)}
    assert set(news) == {"before", "child", "after"}
    assert news["child"] != news["before"] == news["after"]
