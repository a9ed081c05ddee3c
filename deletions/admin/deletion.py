"""User deletions: the list with what was abandoned first, and the page of one deletion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString

from deletions import verbs
from deletions.admin.requested import REQUEUE_ALL, RequestedAdmin
from deletions.admin.states import DELETION_STATES, STEP_STATES
from deletions.models import UserDeletion
from deletions.reads import (
    DeletionDetail,
    DeletionItem,
    deletion_item,
    deletion_rows,
    get_deletion,
    list_abandoned,
)
from deletions.requests import cancellable
from deletions.standing import DEAD
from jobs.admin.verbs import Verb
from jobs.markup import cut, time_tag
from jobs.reads.bounded import bounded
from jobs.reads.errors import SlowReadError
from jobs.reads.links import list_path, object_path

ABANDONED_SHOWN = 20
ABANDONED_TITLE = "Abandoned deletions"
HALVES = ("access", "external", "local")

REQUEUE = Verb(
    name="requeue",
    title="Requeue",
    past="requeued",
    permission="deletions.requeue_userdeletion",
    explanation=(
        "Each becomes due now, with no attempts counted. Steps that are done are not run again."
    ),
    eligible=verbs.REQUEUABLE,
    act=verbs.requeue,
    suits=lambda item: item.status == "abandoned",
)
CANCEL = Verb(
    name="cancel",
    title="Cancel",
    past="cancelled",
    permission="deletions.cancel_userdeletion",
    explanation="Each user stays as before: nothing was touched yet.",
    eligible=cancellable(),
    act=verbs.cancel,
    suits=lambda item: (
        item.status == "pending"
        and item.not_before is not None
        and item.not_before > item.read_at
        and not item.requeues
    ),
)


@admin.register(UserDeletion)
class UserDeletionAdmin(RequestedAdmin):
    change_list_template = "deletions/admin/deletions.html"
    object_template = "deletions/admin/deletion.html"
    empty_words = "No deletion of a user was requested yet."
    search_keys = {"user": "user_id"}
    verbs = (REQUEUE, CANCEL)
    revive = (REQUEUE, DEAD, REQUEUE_ALL)
    list_display = ("number", "user", "state", "tries", *HALVES, "due", "asked")

    def get_list_display(self, request: HttpRequest) -> tuple[str, ...]:
        """Return the columns: what is left behind takes the room of what only waits."""
        if request.GET.get("status") == DEAD:
            return ("number", "user", "state", "tries", "since", *HALVES, "left")
        return self.list_display

    def read_rows(self) -> QuerySet[UserDeletion]:
        return deletion_rows()

    def item(self, row: Any) -> DeletionItem:
        return deletion_item(row)

    def read_item(self, number: int) -> DeletionDetail | None:
        return get_deletion(number)

    @admin.display(description="user")
    def user(self, row: Any) -> str:
        return cut(row.user_id, 40)

    @admin.display(description="access")
    def access(self, row: Any) -> str:
        return deletion_item(row).access.words

    @admin.display(description="external")
    def external(self, row: Any) -> str:
        return cut(deletion_item(row).external.words, 60)

    @admin.display(description="local")
    def local(self, row: Any) -> str:
        return cut(deletion_item(row).local.words, 60)

    @admin.display(description="left behind")
    def left(self, row: Any) -> str:
        return cut(deletion_item(row).left_behind, 300)

    @admin.display(description="since")
    def since(self, row: Any) -> SafeString:
        return time_tag(deletion_item(row).since, now=row.read_at)

    def sample_words(self, row: UserDeletion) -> str:
        """Return the line of a deletion on a verb's page."""
        return cut(f"{row.pk} · user {row.user_id} · {row.status}", 120)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        only_abandoned = request.GET.get("status") == DEAD
        context: dict[str, Any] = {"title": ABANDONED_TITLE} if only_abandoned else {}
        if not request.GET:
            context["abandoned"] = self._abandoned()
            context["abandoned_path"] = list_path(UserDeletion, status=DEAD)
        return super().changelist_view(request, {**context, **(extra_context or {})})

    def object_context(self, request: HttpRequest, item: DeletionDetail) -> Mapping[str, Any]:
        return {
            **super().object_context(request, item),
            "title": f"Deletion {item.id} of user {item.user_id}",
            "steps": [(step, STEP_STATES[step.state]) for step in item.steps],
        }

    def _abandoned(self) -> list[tuple[str, Any, Any]]:
        """Return what was given up, for the top of the list: it comes before what is newer."""
        try:
            with bounded():
                items = list_abandoned(limit=ABANDONED_SHOWN).items
        except SlowReadError:
            return []
        return [
            (object_path(UserDeletion, item.id), item, DELETION_STATES[item.state])
            for item in items
        ]
