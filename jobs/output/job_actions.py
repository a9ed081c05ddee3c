"""The subcommands of ``manage.py jobs`` that act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jobs.commands import EXIT_PROBLEM
from jobs.models.audit import Via
from jobs.models.run import RunStatus
from jobs.output.actors import command_actor
from jobs.output.cancelling import cancel_words, preview_of, run_to_cancel
from jobs.output.command import ConsoleCommand, Options, Subcommands
from jobs.output.options import add_actor
from jobs.output.waiting import NO_WORKER, Progress, wait_for_run
from jobs.output.words import outcome_words
from jobs.reads.runs import RunItem
from jobs.reads.workers import count_alive
from jobs.verbs import (
    CancelAnswer,
    PauseAnswer,
    RunAnswer,
    cancel_run,
    pause_job,
    resume_job,
    run_job,
)


@dataclass(frozen=True, kw_only=True)
class WaitAnswer(RunAnswer):
    """A request that was waited for, and the run that it became."""

    run: RunItem


def add_to(commands: Subcommands) -> None:
    """Add them to the command."""
    run = commands.add("run", ask_for_run, "ask for a run by hand; a worker takes it")
    run.add_argument("job", metavar="ID")
    run.add_argument("--wait", action="store_true", help="until it has ended; 1 unless it is well")
    add_actor(run)
    paused = commands.add("pause", pause, "no scheduled run starts until the job is resumed")
    resumed = commands.add("resume", resume, "what was due during the pause does not run")
    for parser in (paused, resumed):
        parser.add_argument("job", metavar="ID")
        add_actor(parser)
    cancelled = commands.add("cancel", cancel, "end a run that waits or goes on")
    cancelled.add_argument("run", metavar="RUN|ID", help="a run's number, or its job's id")
    cancelled.add_argument("--yes", action="store_true", help="do not ask")
    cancelled.add_argument("--dry-run", action="store_true", help="only say what it would do")
    add_actor(cancelled)


def ask_for_run(console: ConsoleCommand, options: Options) -> None:
    """Ask for a run, and wait for its end when that is wanted."""
    answer = run_job(options["job"], **_by(options))
    if not options["json"]:
        console.say(_run_words(answer))
    if options["wait"]:
        _wait(console, answer, options)
        return
    if options["json"]:
        console.emit(answer)
    if not count_alive():
        console.notice(NO_WORKER)


def pause(console: ConsoleCommand, options: Options) -> None:
    """Pause a job."""
    answer = pause_job(options["job"], **_by(options))
    console.show(answer, options, lambda: [_pause_words(answer)])


def resume(console: ConsoleCommand, options: Options) -> None:
    """Resume a job."""
    answer = resume_job(options["job"], **_by(options))
    console.show(answer, options, lambda: [_pause_words(answer)])


def cancel(console: ConsoleCommand, options: Options) -> None:
    """Cancel a run, after asking."""
    run = run_to_cancel(options["run"])
    if options["dry_run"]:
        words = f"would cancel {cancel_words(run)}"
        console.show(preview_of(run), options, lambda: [words])
        return
    by = _by(options)  # an unknown user is refused before anything is asked
    done = run.status == RunStatus.CANCELLED
    if not done and not console.confirm(f"cancel {cancel_words(run)}", options):
        console.notice("Nothing was cancelled.")
        console.leave(EXIT_PROBLEM)
    answer = cancel_run(run.id, **by)
    console.show(answer, options, lambda: [_cancel_words(answer)])


def _by(options: Options) -> dict[str, Any]:
    return {
        "actor": command_actor(options["user"]),
        "via": Via.COMMAND,
        "reason": options["reason"],
    }


def _wait(console: ConsoleCommand, answer: RunAnswer, options: Options) -> None:
    progress = Progress(
        write=lambda text: console.stderr.write(text, style_func=str, ending=""),
        is_terminal=console.stderr.isatty(),
    )
    try:
        run = wait_for_run(answer.run_id, see=progress.see)
    except KeyboardInterrupt:
        progress.clear()
        console.notice(f"Not waiting any more; run {answer.run_id} goes on without you.")
        console.leave(EXIT_PROBLEM)
        return
    progress.clear()
    fields = {**vars(answer), "status": run.status}
    console.show(WaitAnswer(**fields, run=run), options, lambda: [outcome_words(run)])
    console.leave(0 if run.status == RunStatus.SUCCEEDED else EXIT_PROBLEM)


def _run_words(answer: RunAnswer) -> str:
    if answer.coalesced:
        return f"requested run {answer.run_id}, which waited already: nothing new was requested"
    return f"requested run {answer.run_id}"


def _pause_words(answer: PauseAnswer) -> str:
    if answer.paused and answer.changed:
        return f"paused {answer.job_id}: no scheduled run starts until it is resumed"
    if answer.paused:
        return f"{answer.job_id} is paused already"
    if answer.changed:
        return f"resumed {answer.job_id}: what was due during the pause does not run"
    return f"{answer.job_id} is not paused"


def _cancel_words(answer: CancelAnswer) -> str:
    run = f"run {answer.run_id} of {answer.job_id}"
    if answer.status == RunStatus.CANCELLED:
        return f"cancelled {run}" if answer.changed else f"{run} is cancelled already"
    if answer.changed:
        return f"asked {run} to end: it sees that at its next heartbeat"
    return f"{run} was asked to end already"
