"""The one object that says how a queue's rows are taken, counted and given up."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import F, Q
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce

from jobs import conf
from jobs.claims.pace import Pace
from jobs.clock import ClockTime, Now, ago, before
from jobs.errors import PolicyError
from jobs.queues import LeasedQueueRow, QueueRow


class Counts(enum.Enum):
    """When an attempt is counted, and so which arms its cap gates."""

    # In the claim itself: the cap holds for a row that kills its process before any catch
    # runs, and it gates both arms, so that the stale arm cannot take such a row for ever.
    ON_CLAIM = "on claim"
    # When the work fails: a crash costs no attempt. The cap gates the retry arm only; the
    # stale arm is gated by a count of stale recoveries instead.
    IN_CATCH = "in the catch"


@dataclass(frozen=True, kw_only=True)
class StaleAfter:
    """A claim is stale when ``claimed_at`` is older than this window."""

    ms: int
    column = "claimed_at"

    @property
    def heartbeat_seconds(self) -> float:
        """How often a living worker refreshes the claim, at least."""
        return self.ms / 3000

    def is_stale(self) -> Q:
        return Q(claimed_at__lt=ago(self.ms))

    def is_alive(self, at: Now | ClockTime) -> Q:
        return Q(claimed_at__gte=before(at, self.ms))


@dataclass(frozen=True, kw_only=True)
class Lease:
    """A claim is stale when its ``lease_expires_at`` has passed."""

    ms: int
    heartbeat_ms: int | None = None  # a third of the lease by default
    column = "lease_expires_at"

    @property
    def heartbeat_seconds(self) -> float:
        """How often a living worker moves the lease forward, at least."""
        return (self.heartbeat_ms or self.ms / 3) / 1000

    def is_stale(self) -> Q:
        return Q(lease_expires_at__lt=Now())

    def is_alive(self, at: Now | ClockTime) -> Q:
        return Q(lease_expires_at__gte=at)


@dataclass(frozen=True, kw_only=True)
class Arm:
    """Rows that may be taken, in the order of the partial index that finds them."""

    name: str
    rows: Q
    order: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class ClaimPolicy:
    """
    How the rows of one queue are claimed.

    ``max_attempts`` is a number or the name of the row's own column. ``order`` is the claim
    order of pending rows (their partial index has it too); ``sort`` is the order in which
    rows of all arms are handed on, as expressions, by default the due time.
    """

    model: type[QueueRow]
    counts: Counts
    max_attempts: int | str = 5
    max_stale_recoveries: int = 5  # used by queues that count in the catch
    expiry: StaleAfter | Lease = field(
        default_factory=lambda: StaleAfter(ms=conf.CLAIM_STALE_MS.get())
    )
    order: tuple[str, ...] = ("id",)
    sort: tuple[Any, ...] = (Coalesce("next_retry_at", "created_at").asc(),)
    # Narrows every arm, such as to the kinds that this version knows.
    only: Q = field(default_factory=Q)
    # A row is left out while an unfinished one with a smaller id has the same value in this
    # column; NULL waits for nobody. Dead letters hold up no row.
    order_key: str | None = None
    batch: int = 50  # rows of one claim, at most
    handlers: int = 1  # rows in work at a time, in one process
    # Connections to the database that a pass takes beside its own and its handlers'.
    further_connections: int = 0
    # Rows in work at a time over all processes; None: no more than their handlers.
    most_in_work: int | None = None
    # The handler takes a whole claim at once, so all of it has begun when it is claimed.
    whole_claims: bool = False
    # A crash of the database may not forget a claim of whole claims. It may where the work is
    # in this database too and is forgotten with it.
    durable_claims: bool = True
    backoff_ms: Sequence[int] = field(default_factory=conf.RETRY_BACKOFF_MS.get)
    max_interruptions: int = 5
    done_status: str = "done"
    dead_status: str = "failed"
    # Further columns that the claim writes, in terms of the row as it was.
    on_claim: Mapping[str, Combinable | Any] = field(default_factory=dict)
    # Further columns that are written to a row which becomes a dead letter.
    on_bury: Mapping[str, Combinable | Any] = field(default_factory=dict)
    # Told of dead letters once they are committed, in place of the line in the log.
    on_dead: Callable[[Sequence[int]], None] | None = None
    # Fields to read, all by default; others are read when they are asked for, a query each.
    # Always there: the primary key, the attempts, and what the claim writes that is no
    # instant of the database's.
    columns: tuple[str, ...] | None = None
    # Rows left out in other ways than a Q can say are claimed through another alias.
    using: str = "default"
    # Claims and writes as compiled, and where the last claim ended: of this process alone.
    compiled: dict[Any, Any] = field(default_factory=dict, repr=False)
    write_forms: dict[Any, Any] = field(default_factory=dict, repr=False)
    pace: Pace = field(default_factory=Pace, repr=False)

    def __post_init__(self) -> None:
        leased = issubclass(self.model, LeasedQueueRow)
        if leased != isinstance(self.expiry, Lease):
            raise PolicyError(
                self.queue,
                "a LeasedQueueRow needs expiry=Lease(ms=…), any other row StaleAfter(ms=…)",
            )
        if self.batch < 1 or self.handlers < 1:
            raise PolicyError(self.queue, "batch and handlers are 1 or more")
        if self.most_in_work is not None and self.most_in_work < 1:
            raise PolicyError(self.queue, "most_in_work is 1 or more, or None")
        if not self.backoff_ms:
            raise PolicyError(self.queue, "backoff_ms needs at least one step")
        if self.order_key is not None and any(name.startswith("-") for name in self.order):
            raise PolicyError(self.queue, "order_key needs an order of ascending columns")

    @property
    def queue(self) -> str:
        """The queue's name: its table, which is also its NOTIFY channel."""
        return self.model._meta.db_table

    @property
    def pk_column(self) -> str:
        """The column of the rows' ids."""
        return str(self.model._meta.pk.column)

    def column_of(self, name: str) -> str:
        """Return the column of a field."""
        field: Any = self.model._meta.get_field(name)
        return str(field.column)

    @property
    def cap(self) -> Any:
        """The cap on attempts as an expression."""
        return F(self.max_attempts) if isinstance(self.max_attempts, str) else self.max_attempts

    def cap_of(self, row: QueueRow) -> int:
        """Return the cap on attempts of one row."""
        if isinstance(self.max_attempts, str):
            return int(getattr(row, self.max_attempts))
        return self.max_attempts

    @property
    def exhausted(self) -> Q:
        """Stale rows that no arm may take: what they cost has reached its cap."""
        if self.counts is Counts.ON_CLAIM:
            return Q(attempts__gte=self.cap)
        return Q(stale_recoveries__gte=self.max_stale_recoveries)

    @property
    def stale(self) -> Q:
        """Rows of a worker that died, or that stopped for longer than the window."""
        return Q(status="processing") & self.expiry.is_stale() & self.only

    @property
    def lost(self) -> Q:
        """Rows that a dead worker left at the cap: the next pass makes dead letters of them."""
        return self.stale & self.exhausted & Q(begun_at__isnull=False)

    @property
    def goes_by_age(self) -> bool:
        """Say whether pending rows are claimed as they came, so that a claim can go on."""
        return self.order in (("id",), ("created_at", "id"))

    @property
    def suspects(self) -> Arm:
        """Stale rows whose work had begun: each may be what killed its worker."""
        rows = self.stale & Q(begun_at__isnull=False) & ~self.exhausted
        return Arm(name="suspect", rows=rows, order=(self.expiry.column, "id"))

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Rows that may be claimed together."""
        # Claimed and never begun: nothing is known against it.
        unbegun = Arm(
            name="unbegun",
            rows=self.stale & Q(begun_at__isnull=True),
            order=(self.expiry.column, "id"),
        )
        return (*self.due_arms, unbegun)

    @property
    def due_arms(self) -> tuple[Arm, ...]:
        """Rows in nobody's hands."""
        retryable = Q(status="pending") | Q(status="failed", attempts__lt=self.cap)
        return (
            Arm(
                name="pending",
                rows=Q(status="pending", next_retry_at__isnull=True) & self.only,
                order=self.order,
            ),
            Arm(
                name="retry",
                rows=Q(next_retry_at__lte=Now()) & retryable & self.only,
                order=("next_retry_at", "id"),
            ),
        )
