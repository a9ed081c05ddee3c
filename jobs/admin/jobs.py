"""Jobs: the inventory's list, and the page of one job."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin, messages
from django.contrib.admin.utils import quote, unquote
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobs.admin.actions_taken import actions_taken
from jobs.admin.base import ReadOnlyAdmin
from jobs.admin.forced_run import forced_run
from jobs.admin.inventory_list import (
    HealthFilter,
    InventoryChangeList,
    KindFilter,
    PackageFilter,
    SourceFilter,
)
from jobs.admin.job_verbs import JOB_VERBS, JobVerb
from jobs.admin.job_words import (
    DAYLIGHT_WORDS,
    HISTORY_SLOW,
    by_hand_cell,
    cadence_cell,
    health_state,
    last_run_cell,
    next_cell,
)
from jobs.admin.strip import strip
from jobs.admin.verb_form import VerbForm
from jobs.admin.verbs import VerbButton
from jobs.errors import EngineroomError
from jobs.markup import alert_state, run_state_of, state_mark
from jobs.models import Alert, JobRun, JobState
from jobs.models.run import RunStatus, Trigger
from jobs.reads.alerts import list_alerts
from jobs.reads.bounded import bounded
from jobs.reads.errors import SlowReadError
from jobs.reads.inventory import JobDetail, JobItem, get_job
from jobs.reads.job_history import HISTORY_LIMIT_MS, StripRun
from jobs.reads.links import list_path, object_path
from jobs.verbs import cancel_run

RUNS_SHOWN = 50


@admin.register(JobState)
class JobStateAdmin(ReadOnlyAdmin):
    change_list_template = "jobs/admin/job_list.html"
    object_template = "jobs/admin/job.html"
    changelist_class = InventoryChangeList
    # History has a second: then its cells say so, and the page stands.
    read_limit_ms = HISTORY_LIMIT_MS
    is_live = True
    empty_words = "No installed app declares a job."
    search_fields = ("pk",)  # shows the box; the list itself looks through the ids
    search_help_text = "A part of a job's id"
    list_filter = (HealthFilter, PackageFilter, SourceFilter, KindFilter)
    list_display = ("name", "state", "last_20", "last_run", "next_run", "rhythm", "by_hand")

    def get_urls(self) -> list[URLPattern]:
        verb = path(
            "<str:object_id>/verb/<slug:name>/",
            self.admin_site.admin_view(self.verb_view),
            name="jobs_jobstate_verb",
        )
        # Answers in JSON, so it sends nobody to a page for signing in.
        forced = path("<str:job_id>/run", forced_run, name="jobs_jobstate_run")
        return [verb, forced, *super().get_urls()]

    def read_rows(self) -> QuerySet[JobState]:
        return JobState.objects.none()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        return queryset, False

    @admin.display(description="job")
    def name(self, row: Any) -> SafeString:
        item: JobItem = row.item
        words = item.summary or "No installed app declares it any more."
        return format_html(
            '<strong>{}</strong><span class="console-summary">{}</span>',
            self.row_link(row, item.id),
            words,
        )

    @admin.display(description="health")
    def state(self, row: Any) -> SafeString:
        return state_mark(health_state(row.item), title=row.item.health_words)

    @admin.display(description="last 20")
    def last_20(self, row: Any) -> SafeString | str:
        runs = row.item.last_runs
        return HISTORY_SLOW if runs is None else strip(runs, now=row.item.read_at)

    @admin.display(description="last run")
    def last_run(self, row: Any) -> SafeString | str:
        return last_run_cell(row.item)

    @admin.display(description="next run")
    def next_run(self, row: Any) -> SafeString | str:
        return next_cell(row.item)

    @admin.display(description="cadence")
    def rhythm(self, row: Any) -> SafeString | str:
        return cadence_cell(row.item.cadence)

    @admin.display(description="by hand")
    def by_hand(self, row: Any) -> str:
        return by_hand_cell(row.item)

    def read_object(self, request: HttpRequest, key: str) -> JobDetail | None:
        return get_job(key, runs=RUNS_SHOWN)

    def object_context(self, request: HttpRequest, item: JobDetail) -> Mapping[str, Any]:
        return {
            **super().object_context(request, item),
            "title": item.id,
            "state": health_state(item),
            "buttons": self.buttons(request, item),
            "strip": strip(item.last_runs or (), now=item.read_at),
            "zone": (item.cadence.timezone if item.cadence else None) or "UTC",
            "fires": [(fire, DAYLIGHT_WORDS.get(fire.daylight or "")) for fire in item.next_fires],
            "runs": [_run_row(run) for run in item.last_runs or ()],
            "runs_path": list_path(JobRun, job=item.id),
            "alerts": [_alert_row(alert) for alert in list_alerts(subject=item.id).items],
            "alerts_path": list_path(Alert, q=f"subject:{item.id}"),
            **actions_taken(JobState, item.id),
        }

    def buttons(self, request: HttpRequest, item: JobDetail) -> list[VerbButton]:
        """Return the buttons of a job's page: those that suit it and are permitted."""
        found = [
            VerbButton(text=f"{verb.title}…", path=self.verb_path(verb, item.id))
            for verb in JOB_VERBS
            if verb.suits(item) and request.user.has_perm(verb.permission)
        ]
        if request.user.has_perm(cancel_run.permission):
            found += [self._cancel_button(run) for run in _cancellable(item)]
        return found

    def verb_path(self, verb: JobVerb, job_id: str) -> str:
        """Return the address of a verb's page."""
        names = [quote(job_id), verb.name]
        return reverse("admin:jobs_jobstate_verb", args=names, current_app=self.admin_site.name)

    def verb_view(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """GET says what would happen, POST with a reason does it."""
        verb = next((each for each in JOB_VERBS if each.name == name), None)
        if verb is None:
            raise Http404(f"There is no verb {name!r} for jobs.")
        if not (self.has_view_permission(request) and request.user.has_perm(verb.permission)):
            raise PermissionDenied
        try:
            with bounded(milliseconds=self.read_limit_ms):
                item = get_job(unquote(object_id))
        except SlowReadError as error:
            return self.message_page(request, title=str(error), status=503)
        if item is None or not item.declared:
            words = f"Nobody declares a job {unquote(object_id)}: there is nothing to do it to."
            return self.message_page(request, title=words, status=404)
        suits = verb.suits(item)
        form = verb.form(request.POST if request.method == "POST" else None, item)
        if request.method == "POST" and form.is_valid():
            return self._carry_out(request, verb, item, form)
        return self.console_page(
            request,
            "jobs/admin/job_verb.html",
            title=f"{verb.title}: {item.id}",
            verb=verb,
            explanation=verb.explain(item),
            suits=suits,
            state=health_state(item),
            item=item,
            form=form,
            back=object_path(JobState, item.id),
        )

    def _carry_out(
        self, request: HttpRequest, verb: JobVerb, item: JobItem, form: VerbForm
    ) -> HttpResponse:
        try:
            done = verb.act(item.id, request.user, form.cleaned_data["reason"], **form.asked)
        except EngineroomError as error:
            return self.message_page(request, title=str(error), status=409)
        level = messages.SUCCESS if done.changed else messages.WARNING
        self.message_user(request, done.words, level)
        may_see = verb.name != "run" or request.user.has_perm("jobs.view_jobrun")
        return redirect(done.path if may_see else object_path(JobState, item.id))

    def _cancel_button(self, run: StripRun) -> VerbButton:
        page = reverse("admin:jobs_jobrun_verb", args=["cancel"], current_app=self.admin_site.name)
        return VerbButton(text=f"Cancel run {run.id}…", path=f"{page}?ids={run.id}")


def _cancellable(item: JobItem) -> list[StripRun]:
    # A pass of a queue worker ends by itself and comes again.
    ended_by_hand = {RunStatus.REQUESTED, RunStatus.RUNNING}
    if item.declared and not item.singleton:
        ended_by_hand = {RunStatus.REQUESTED}
    return [run for run in item.last_runs or () if run.status in ended_by_hand]


def _run_row(run: StripRun) -> dict[str, Any]:
    return {
        "id": run.id,
        "path": object_path(JobRun, run.id),
        "trigger": Trigger(run.trigger).label,
        "state": run_state_of(run.status),
        "at": run.started_at or run.scheduled_for,
        "seconds": run.seconds,
        "passes": run.passes,
        "count": run.count,
    }


def _alert_row(alert: Any) -> tuple[Any, str, Any]:
    return alert, object_path(Alert, alert.id), alert_state(alert)
