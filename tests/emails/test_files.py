"""Delivery into files and onto the console."""

from __future__ import annotations

import io
import os
import stat
import threading
from pathlib import Path

import pytest

from emails import files
from emails.envelopes import Envelope
from emails.files import ConsoleTransport, FileTransport
from emails.replies import Outcome

RAW = b"Subject: hello\r\n\r\n.dot\r\n=C3=A4\r\n"


def envelope(name: str = "42") -> Envelope:
    return Envelope(
        mail_from="f@example.org",
        recipients=("a@example.org", "b@example.org"),
        raw=RAW,
        name=name,
    )


def nothing() -> None:
    """Commit nothing before the dot."""


def test_a_mail_becomes_one_file_of_the_very_bytes(tmp_path: Path) -> None:
    result = FileTransport(tmp_path).deliver(envelope(), before_dot=nothing)

    (written,) = tmp_path.iterdir()
    assert written.read_bytes() == RAW
    assert written.name.endswith("-42.eml")
    assert result.accepted == ("a@example.org", "b@example.org")


def test_the_directory_is_made_for_its_owner_only(tmp_path: Path) -> None:
    target = tmp_path / "var" / "mail"

    FileTransport(target).deliver(envelope(), before_dot=nothing)

    assert stat.S_IMODE(target.stat().st_mode) == 0o700
    (written,) = target.iterdir()
    assert stat.S_IMODE(written.stat().st_mode) == 0o600


@pytest.mark.parametrize("with_links", [True, False])
def test_no_mail_overwrites_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, with_links: bool
) -> None:
    class Stopped(files.dt.datetime):
        @classmethod
        def now(cls, tz: files.dt.tzinfo | None = None) -> Stopped:
            return cls(2026, 1, 2, 3, 4, 5, tzinfo=tz)

    def refuse(*_: object) -> None:
        raise PermissionError("no hard links here")

    monkeypatch.setattr(files.dt, "datetime", Stopped)
    if not with_links:
        monkeypatch.setattr(os, "link", refuse)

    for _ in range(3):
        FileTransport(tmp_path).deliver(envelope(), before_dot=nothing)

    names = sorted(path.name for path in tmp_path.iterdir())
    stem = "20260102T030405.000000Z-42"
    assert names == [f"{stem}-2.eml", f"{stem}-3.eml", f"{stem}.eml"]


def test_many_threads_write_as_many_files(tmp_path: Path) -> None:
    transport = FileTransport(tmp_path)
    threads = [
        threading.Thread(
            target=transport.deliver, args=(envelope("same"),), kwargs={"before_dot": nothing}
        )
        for _ in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=20)

    assert len(list(tmp_path.glob("*.eml"))) == 20
    assert len(list(tmp_path.iterdir())) == 20


@pytest.mark.parametrize("name", ["../../etc/x", "<a/b@host>", "", "\0", ".hidden", "x" * 500])
def test_a_name_cannot_lead_out_of_the_directory(tmp_path: Path, name: str) -> None:
    FileTransport(tmp_path / "out").deliver(envelope(name), before_dot=nothing)

    (written,) = (tmp_path / "out").iterdir()
    assert written.suffix == ".eml"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("error", [RuntimeError("claim lost"), OSError("database gone")])
def test_what_the_caller_raises_goes_through_and_no_file_is_left(
    tmp_path: Path, error: Exception
) -> None:
    def before_dot() -> None:
        assert not list(tmp_path.glob("*.eml"))
        raise error

    with pytest.raises(type(error)):
        FileTransport(tmp_path).deliver(envelope(), before_dot=before_dot)

    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_made_is_a_channel_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")

    result = FileTransport(tmp_path / "file" / "out").deliver(envelope(), before_dot=nothing)

    assert result.channel_error is not None
    assert str(tmp_path) in result.channel_error.text
    assert {each.outcome for each in result.recipients} == {Outcome.CHANNEL}


def test_the_console_shows_a_mail_and_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    result = ConsoleTransport().deliver(envelope(), before_dot=nothing)

    assert capsys.readouterr().out == RAW.decode().replace("\r\n", "\n") + "\n" + "-" * 79 + "\n"
    assert len(result.accepted) == 2


def test_a_closed_console_is_a_channel_error() -> None:
    stream = io.StringIO()
    stream.close()

    result = ConsoleTransport(stream).deliver(envelope(), before_dot=nothing)

    assert result.channel_error is not None
