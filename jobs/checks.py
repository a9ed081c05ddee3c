"""
What ``manage.py check`` says of the declared jobs, their queues and the engine's settings.

jobs.E001  an id is declared twice
jobs.E002  an id is not a package, a dot and a noun
jobs.E003  a summary is not one sentence
jobs.E004  the page that owns a job's configuration does not resolve
jobs.E005  a queue worker does not poll at an interval
jobs.E006  a cadence in code cannot be read
jobs.E007  a queue's policy cannot be built
jobs.E008  a setting is out of range
jobs.W001  a queue's table lacks an index that its claims read
jobs.W002  a queue's table lacks a constraint of the claim
jobs.W003  a cadence that is data cannot be read: its job waits, the others run
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from django.apps import apps
from django.core import checks
from django.db.models import Index, Model
from django.urls import NoReverseMatch, reverse

from jobs import conf
from jobs.cadence import Every
from jobs.claims import ClaimPolicy, Lease
from jobs.conf import Setting
from jobs.declarations import JobDeclaration, Registry, registry
from jobs.errors import EngineroomError, SettingError
from jobs.failure import headline
from jobs.own_cadence import OwnCadence
from jobs.queues import LeasedQueueRow, QueueRow, queue_indexes

Messages = Iterator[checks.CheckMessage]
ID_FORM = re.compile(r"[a-z][a-z0-9_]*(\.[a-z0-9][a-z0-9_-]*)+")
ANOTHER_SENTENCE = re.compile(r"[.!?]\s+\S|\n")
SUMMARY_LENGTH = 200


def register() -> None:
    """Register the checks with Django."""
    checks.register(check_declarations)
    checks.register(check_engine_settings)
    # Resolving a page imports the URLconf, as Django's own checks of URLs do.
    checks.register(check_pages, checks.Tags.urls)


def check_declarations(
    *, jobs: Registry = registry, **_options: Any
) -> Sequence[checks.CheckMessage]:
    """Check every declaration on its own (jobs.E001 to E007, W001, W002)."""
    found: list[checks.CheckMessage] = [
        checks.Error(str(duplicate), id="jobs.E001") for duplicate in jobs.duplicates
    ]
    for job in jobs:
        for look in (check_id, check_summary, check_cadence, check_policy):
            found += look(job)
    return found


def check_pages(*, jobs: Registry = registry, **_options: Any) -> Sequence[checks.CheckMessage]:
    """Check that every configuration page resolves (jobs.E004)."""
    return [message for job in jobs for message in check_page(job)]


def check_engine_settings(**_options: Any) -> Sequence[checks.CheckMessage]:
    """Refuse settings that are out of range (jobs.E008)."""
    return out_of_range(conf.SETTINGS, check_id="jobs.E008")


def out_of_range(
    settings: Iterable[Setting[Any]], *, check_id: str
) -> Sequence[checks.CheckMessage]:
    """Return an error for each setting whose value is refused; every app's check says so."""
    found = []
    for setting in settings:
        try:
            setting.get()
        except SettingError as error:
            found.append(checks.Error(str(error), id=check_id))
    return found


def check_id(job: JobDeclaration) -> Messages:
    """An id is a package, a dot and a noun, in lower case."""
    if not ID_FORM.fullmatch(job.id):
        yield _error(
            job,
            f"The job id {job.id!r} is not a package, a dot and a noun.",
            hint="Write it like emails.processor.",
            check_id="jobs.E002",
        )


def check_summary(job: JobDeclaration) -> Messages:
    """A summary is one sentence: it is a line of the Jobs page."""
    summary = job.summary.strip()
    if summary and len(summary) <= SUMMARY_LENGTH and not ANOTHER_SENTENCE.search(summary):
        return
    problem = "is empty" if not summary else "is not one sentence"
    if len(summary) > SUMMARY_LENGTH:
        problem = f"is longer than {SUMMARY_LENGTH} characters"
    yield _error(
        job,
        f"The summary of {job.id} {problem}.",
        hint="Say in one sentence what the job does.",
        check_id="jobs.E003",
    )


def check_page(job: JobDeclaration) -> Messages:
    """A configuration page resolves, where the project has the admin at all."""
    page = job.config_page
    if not page or (page.startswith("admin:") and not apps.is_installed("django.contrib.admin")):
        return
    try:
        reverse(page)
    except NoReverseMatch:
        yield _error(
            job,
            f"The configuration page {page!r} of {job.id} does not resolve.",
            hint="config_page is the name of a URL, such as admin:emails_emailjob_changelist.",
            check_id="jobs.E004",
        )


def check_cadence(job: JobDeclaration) -> Messages:
    """A cadence can be read, and that of a queue worker is an interval."""
    if isinstance(job.read_cadence, OwnCadence):
        return  # its default was checked when it was made; what is set is checked when it is set
    try:
        cadence = job.cadence
    except SettingError:
        return  # said once, of the setting
    except Exception as error:  # noqa: BLE001 (the project's own function reads it)
        reason = str(error) if isinstance(error, EngineroomError) else headline(error)
        message = f"The cadence of {job.id} cannot be read: {reason}"
        if job.cadence_is_data:
            yield checks.Warning(message, obj=_Owner(job), id="jobs.W003")
        else:
            yield _error(job, message, check_id="jobs.E006")
        return
    if not job.singleton and not isinstance(cadence, Every):
        yield _error(
            job,
            f"The queue worker {job.id} has the cadence {cadence!r}.",
            hint="A queue is polled at an interval: Every(seconds=…). Commits wake it besides.",
            check_id="jobs.E005",
        )


def check_policy(job: JobDeclaration) -> Messages:
    """A queue's policy can be built, and its table has what the claim needs."""
    if job.policy is None:
        return
    try:
        policy = job.policy()
    except SettingError:
        return
    except Exception as error:  # noqa: BLE001 (the project's own function builds it)
        reason = str(error) if isinstance(error, EngineroomError) else headline(error)
        yield _error(job, f"The policy of {job.id} cannot be built: {reason}", check_id="jobs.E007")
        return
    for missing in missing_indexes(policy):
        yield checks.Warning(
            f"{policy.queue} has no index for its {missing} rows: every claim reads the table.",
            hint="Meta.indexes = queue_indexes(…) with the policy's order, and makemigrations.",
            obj=policy.model,
            id="jobs.W001",
        )
    for missing in missing_constraints(policy.model):
        yield checks.Warning(
            f"{policy.queue} lacks the constraint {missing}.",
            hint="Meta.constraints begins with those of QueueRow or LeasedQueueRow.",
            obj=policy.model,
            id="jobs.W002",
        )


def missing_indexes(policy: ClaimPolicy) -> list[str]:
    """Return which of the claim's partial indexes the model does not declare."""
    wanted = queue_indexes(
        policy.queue,
        order=policy.order,
        leased=isinstance(policy.expiry, Lease),
        dead_status=policy.dead_status,
        order_key=policy.order_key,
    )
    declared = [_shape(index) for index in policy.model._meta.indexes]
    return [
        index.name.removeprefix(f"{policy.queue}_")
        for index in wanted
        if _shape(index) not in declared
    ]


def missing_constraints(model: type[Model]) -> list[str]:
    """Return which of the claim's CHECKs the model does not declare, by their names."""
    base = LeasedQueueRow if issubclass(model, LeasedQueueRow) else QueueRow
    declared = [getattr(item, "condition", None) for item in model._meta.constraints]
    name = model._meta.model_name or ""
    return [
        str(item.name).replace("%(class)s", name)
        for item in base.Meta.constraints
        if getattr(item, "condition", None) not in declared
    ]


def _shape(index: Index) -> tuple[Any, ...]:
    return (tuple(index.fields_orders), tuple(index.expressions), index.condition)


def _error(
    job: JobDeclaration, message: str, *, check_id: str, hint: str | None = None
) -> checks.Error:
    return checks.Error(message, hint=hint, obj=_Owner(job), id=check_id)


class _Owner:
    """The declaration's place, as Django prints the object of a message."""

    def __init__(self, job: JobDeclaration) -> None:
        self.text: Callable[[], str] = lambda: job.owner_file

    def __str__(self) -> str:
        return self.text()
