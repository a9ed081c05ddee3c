"""The subcommands of ``manage.py jobs`` that only look."""

from __future__ import annotations

from jobs.models.run import RunStatus, Trigger
from jobs.output.command import ConsoleCommand, Options, Subcommands
from jobs.output.job_page import job_lines
from jobs.output.known import refuse_unknown_job
from jobs.output.options import add_paging, moment, parse_id, reach_back, row_id
from jobs.output.run_log import show_log, show_output
from jobs.output.run_page import run_lines
from jobs.output.tables import Column
from jobs.output.waiting import NO_WORKER
from jobs.output.words import (
    cadence_cell,
    health_cell,
    last_cell,
    next_cell,
    run_status,
    took,
    when,
    yes_no,
)
from jobs.reads.bounded import bounded
from jobs.reads.inventory import JobItem, get_job, list_jobs
from jobs.reads.paging import LARGEST_LIMIT, PAGE_LIMIT
from jobs.reads.runs import RunDetail, RunItem, get_run, list_runs
from jobs.verbs import UnknownRunError

TABLE_OF_JOBS = (
    Column(title="job"),
    Column(title="health", is_state=True),
    Column(title="cadence", shrinks=True),
    Column(title="last", shrinks=True),
    Column(title="next", shrinks=True),
    Column(title="manual"),
    Column(title="page", optional=True),
)
TABLE_OF_RUNS = (
    Column(title="run"),
    Column(title="job"),
    Column(title="trigger"),
    Column(title="status", is_state=True),
    Column(title="slot or start", shrinks=True),
    Column(title="took"),
    Column(title="by", shrinks=True),
    Column(title="error", shrinks=True),
    Column(title="page", optional=True),
)


def add_to(commands: Subcommands) -> None:
    """Add them to the command."""
    commands.add("list", show_jobs, "every job: how it is, when it ran, when it is due")
    show = commands.add("show", show_one, "one job with its next five fire times, or one run")
    show.add_argument("id", metavar="ID", help="a job's id, or a run's number")
    runs = commands.add("runs", show_runs, "the ledger, newest first")
    runs.add_argument("--job", default="", metavar="ID")
    runs.add_argument("--status", default="", choices=RunStatus.values)
    runs.add_argument("--trigger", default="", choices=Trigger.values)
    runs.add_argument("--since", type=moment, metavar="24h|TIME")
    add_paging(runs)
    log = commands.add("run-log", show_run_log, "what a run logged, or printed")
    log.add_argument("run", type=row_id, metavar="RUN")
    # Under another name: Django's own option of that name is where a command writes to.
    log.add_argument(
        "--stdout",
        action="store_true",
        dest="printed",
        help="what it printed, not what it logged",
    )
    log.add_argument("--follow", action="store_true", help="go on until the run has ended")
    add_paging(log, default=LARGEST_LIMIT)


def show_jobs(console: ConsoleCommand, options: Options) -> None:
    """Print the inventory."""
    with bounded():
        inventory = list_jobs()
    if options["json"]:
        console.emit(inventory)
        return
    rows = [_job_row(job) for job in inventory.items]
    console.show_table(TABLE_OF_JOBS, rows, nothing="No app declares a job.")
    if inventory.history_slow:
        console.notice("The history was too slow: what comes from it is left out.")
    if not inventory.worker_alive:
        console.notice(NO_WORKER)


def show_one(console: ConsoleCommand, options: Options) -> None:
    """Print the page of a job, or of a run."""
    number = parse_id(options["id"])
    if number is not None:
        run = _run(number)
        console.show(run, options, lambda: run_lines(run))
        return
    refuse_unknown_job(options["id"])
    with bounded():
        job = get_job(options["id"])
        if job is not None:
            console.show(job, options, lambda: job_lines(job, width=console.width))
            return
    # Only the ledger knows it: that is what there is to show.
    filters = {"job": options["id"], "status": "", "trigger": "", "since": None}
    show_runs(console, {**options, **filters, "limit": PAGE_LIMIT, "before": None})


def show_runs(console: ConsoleCommand, options: Options) -> None:
    """Print a page of the ledger."""
    if options["job"]:
        refuse_unknown_job(options["job"])
    with bounded():
        page = list_runs(
            job_id=options["job"],
            status=options["status"],
            trigger=options["trigger"],
            since=reach_back(options["since"]),
            limit=options["limit"],
            before_id=options["before"],
        )
    console.show_page(page, options, TABLE_OF_RUNS, _run_row, nothing="There are no such runs.")


def show_run_log(console: ConsoleCommand, options: Options) -> None:
    """Print what a run logged or printed, and with ``--follow`` what comes until its end."""
    run = _run(options["run"])
    if options["printed"]:
        show_output(console, run, options)
    else:
        show_log(console, run, options)


def _run(run_id: int) -> RunDetail:
    with bounded():
        run = get_run(run_id)
    if run is None:
        raise UnknownRunError(run_id)
    return run


def _job_row(job: JobItem) -> tuple[object, ...]:
    return (
        job.id,
        health_cell(job),
        cadence_cell(job.cadence),
        last_cell(job),
        next_cell(job),
        yes_no(job.manual_run),
        job.admin_url,
    )


def _run_row(run: RunItem) -> tuple[object, ...]:
    at = run.started_at or run.scheduled_for or run.created_at
    return (
        run.id,
        run.job_id,
        run.trigger,
        run_status(run.status, run.count),
        when(at, now=run.read_at),
        took(run.seconds),
        run.requested_by,
        run.error_head,
        run.admin_url,
    )
