"""Everything that is measured, one section after the other."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.bench import enqueueing, realtime
from tests.bench.buckets import emptied_by_boto3, emptied_by_worker
from tests.bench.drain import Load, drain, limit
from tests.bench.idle import idle
from tests.bench.mail import mail, smtplib_alone
from tests.bench.pickup import pickup
from tests.bench.report import table
from tests.bench.sink import NoSinkError
from tests.bench.sweep import sweep

Figures = dict[str, float]
# Connections to the mail server: with few of them it is the commit before each final dot that
# takes the time, with many it is the work. Four are the default.
MANY, FEW = 16, 4


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much is measured."""

    rows: int  # drained
    many: int  # that lie beside them
    snapshot_rows: int
    repeats: int
    pickups: int
    mails: int
    objects: int
    swept: int
    idle_seconds: float
    realtime: realtime.Amount


FULL = Size(
    rows=60_000,
    many=1_000_000,
    snapshot_rows=20_000,
    repeats=3,
    pickups=200,
    mails=8_000,
    objects=20_000,
    swept=300_000,
    idle_seconds=30.0,
    realtime=realtime.Amount(times=200, events_1=20_000, events_100=5_000),
)
SHORT = Size(
    rows=10_000,
    many=50_000,
    snapshot_rows=10_000,
    repeats=1,
    pickups=20,
    mails=1_000,
    objects=3_000,
    swept=30_000,
    idle_seconds=5.0,
    realtime=realtime.Amount(times=30, events_1=2_000, events_100=1_000),
)


def measure(*, short: bool, only: Sequence[str], say: Callable[[str], object]) -> Figures:
    """Return the figures by their keys."""
    size = SHORT if short else FULL
    figures: Figures = {}
    for name, section in SECTIONS.items():
        if not only or name in only:
            say(f"… {name}")
            found = section(size)
            say(table(found))
            figures |= found
    return figures


def _drain(size: Size) -> Figures:
    load = Load(rows=size.rows)
    return _medians(
        size.repeats,
        drain_1=lambda: drain(load),
        limit_1=lambda: limit(load),
        drain_2=lambda: drain(load, processes=2),
        limit_2=lambda: limit(load, clients=2),
    )


def _pickup(size: Size) -> Figures:
    return pickup(times=size.pickups)


def _depth(size: Size) -> Figures:
    return {
        "finished_1m_ratio": _ratio(size, Load(rows=size.rows, finished=size.many)),
        "pending_1m_ratio": _ratio(size, Load(rows=size.rows, pending=size.many)),
    }


def _snapshot(size: Size) -> Figures:
    load = Load(rows=size.snapshot_rows, old_snapshot=True)
    return {"old_snapshot_ratio": _ratio(size, load)}


def _ratio(size: Size, load: Load) -> float:
    """Return the rate with what lies beside the rows over the rate without, run in turn."""
    found = _medians(
        size.repeats,
        without=lambda: drain(Load(rows=load.rows)),
        beside=lambda: drain(load),
    )
    return found["beside"] / found["without"]


def _enqueue(size: Size) -> Figures:
    return _medians(
        size.repeats,
        bulk_enqueue_per_s=lambda: enqueueing.bulk_enqueue(rows=size.rows),
        copy_1k_per_s=lambda: enqueueing.copy(rows=size.rows),
    )


def _mail(size: Size) -> Figures:
    try:
        return _medians(
            size.repeats,
            smtplib_per_s=lambda: smtplib_alone(count=size.mails, connections=MANY),
            mail_per_s=lambda: mail(count=size.mails, connections=MANY),
            smtplib_4_per_s=lambda: smtplib_alone(count=size.mails, connections=FEW),
            mail_4_per_s=lambda: mail(count=size.mails, connections=FEW),
        )
    except NoSinkError as error:
        print(f"  left out: {error}")
        return {}


def _sweep(size: Size) -> Figures:
    return sweep(rows=size.swept)


def _buckets(size: Size) -> Figures:
    return _medians(
        size.repeats,
        bucket_objects_per_s=lambda: emptied_by_worker(count=size.objects),
        boto3_objects_per_s=lambda: emptied_by_boto3(count=size.objects),
    )


def _idle(size: Size) -> Figures:
    return idle(seconds=size.idle_seconds)


def _realtime(size: Size) -> Figures:
    return realtime.measure(size.realtime)


def _medians(repeats: int, **measures: Callable[[], float]) -> Figures:
    """Measure in turn, so that a noisy minute spoils one of each."""
    found: dict[str, list[float]] = {name: [] for name in measures}
    for _ in range(repeats):
        for name, measured in measures.items():
            found[name].append(measured())
    return {name: statistics.median(values) for name, values in found.items()}


SECTIONS: dict[str, Callable[[Size], Figures]] = {
    "drain": _drain,
    "pickup": _pickup,
    "depth": _depth,
    "snapshot": _snapshot,
    "enqueue": _enqueue,
    "mail": _mail,
    "buckets": _buckets,
    "realtime": _realtime,
    "sweep": _sweep,
    "idle": _idle,
}
