"""What the lists of all queues have alike."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils.safestring import SafeString

from jobs.admin.base import BigTableAdmin
from jobs.admin.verbs import Verb, VerbAdmin, VerbButton
from jobs.markup import time_tag


class QueueAdmin(VerbAdmin, BigTableAdmin):
    """The rows of a queue. The scope of its dead letters is named as its status filter is."""

    # The verb that gives dead letters another chance, their scope, and how the link is called.
    revive: ClassVar[tuple[Verb, str, str]]

    @admin.display(description="id")
    def number(self, row: Any) -> SafeString | str:
        return self.row_link(row, row.pk)

    @admin.display(description="next try")
    def due(self, row: Any) -> SafeString | str:
        return time_tag(row.next_retry_at, now=row.read_at) if row.next_retry_at else ""

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        links = []
        verb, dead, text = self.revive
        # Only where nothing but dead letters is seen: elsewhere it would be pressed in the
        # belief that it acts on what was ticked.
        if request.GET.get("status") == dead and self.may(request, verb.name):
            links.append(VerbButton(text=text, path=self.verb_path(verb.name, scope=dead)))
        return super().changelist_view(request, {"links": links, **(extra_context or {})})
