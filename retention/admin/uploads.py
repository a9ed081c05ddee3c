"""Upload reservations: the list, and the page of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString

from jobs.admin.actions_taken import actions_taken
from jobs.admin.base import BigTableAdmin
from jobs.admin.filters import ConditionFilter
from jobs.admin.verbs import Verb, VerbAdmin
from jobs.markup import State, cut, state_mark, time_tag
from jobs.reads.links import list_path
from retention.models import UploadReservation, UploadStatus
from retention.uploads import verbs
from retention.uploads.quotas import default_quota
from retention.uploads.reads import (
    OVERDUE,
    STATES,
    STUCK,
    UploadDetail,
    get_upload,
    state_of,
    upload_rows,
)
from retention.uploads.words import size_words

UPLOAD_STATES: Mapping[str, State] = {
    UploadStatus.PENDING: State(shape="○", tone="quiet", word="reserved"),
    OVERDUE: State(shape="▲", tone="warn", word="expired"),
    UploadStatus.COMPLETING: State(shape="◐", tone="busy", word="being finalised"),
    UploadStatus.COMPLETED: State(shape="●", tone="good", word="kept"),
    UploadStatus.EXPIRING: State(shape="◐", tone="busy", word="being released"),
    STUCK: State(shape="■", tone="bad", word="not released"),
}
RELEASE = Verb(
    name="release",
    title="Release",
    past="released",
    permission="retention.release_uploadreservation",
    explanation=(
        "Nobody can finalise these any more. The next pass of retention.uploads, within five "
        "minutes, removes what was uploaded and gives the quota back."
    ),
    eligible=verbs.RELEASABLE,
    act=verbs.release,
    suits=lambda item: item.status == UploadStatus.PENDING,
)


class UploadStateFilter(ConditionFilter):
    title = "status"
    parameter_name = "status"
    conditions = {name: (UPLOAD_STATES[name].word, rows) for name, rows in STATES.items()}


@admin.register(UploadReservation)
class UploadReservationAdmin(VerbAdmin, BigTableAdmin):
    object_template = "retention/admin/upload.html"
    is_live = True
    empty_words = "Nothing is reserved, and nothing was kept yet."
    search_keys = {"owner": "owner"}
    verbs = (RELEASE,)
    list_filter = (UploadStateFilter,)
    list_display = ("number", "file", "whose", "state", "until")

    def read_rows(self) -> QuerySet[UploadReservation]:
        return upload_rows()

    def read_item(self, number: int) -> UploadDetail | None:
        return get_upload(number)

    def changes_by_itself(self, item: UploadDetail) -> bool:
        return item.status != UploadStatus.COMPLETED

    def has_release_permission(self, request: HttpRequest) -> bool:
        return self.may(request, RELEASE.name)

    @admin.display(description="id")
    def number(self, row: Any) -> SafeString | str:
        return self.row_link(row, row.pk)

    @admin.display(description="owner")
    def whose(self, row: Any) -> str:
        return cut(row.owner, 24)

    @admin.display(description="file")
    def file(self, row: Any) -> SafeString:
        name, size = cut(row.filename, 36), size_words(row.size)
        return format_html('{} <span class="console-quiet">{}</span>', name, size)

    @admin.display(description="status")
    def state(self, row: Any) -> SafeString:
        mark = state_mark(UPLOAD_STATES[state_of(row)])
        if not row.last_error:
            return mark
        error = cut(row.last_error, 120)
        return format_html('{}<br><span class="console-quiet">{}</span>', mark, error)

    @admin.display(description="expires")
    def until(self, row: Any) -> SafeString:
        if row.completed_at is None:
            return time_tag(row.expires_at, now=row.read_at)
        kept_at = time_tag(row.completed_at, now=row.read_at)
        return format_html('<span class="console-quiet">kept</span> {}', kept_at)

    def sample_words(self, row: UploadReservation) -> str:
        """Return the line of a reservation on a verb's page."""
        return cut(f"{row.pk} · {row.filename} of {row.owner} · {row.status}", 120)

    def object_context(self, request: HttpRequest, item: UploadDetail) -> Mapping[str, Any]:
        return {
            **super().object_context(request, item),
            "title": f"Upload {item.id}: {cut(item.filename, 60)} of {cut(item.owner, 40)}",
            "state": UPLOAD_STATES[item.state],
            "size": size_words(item.size),
            "used": size_words(item.usage.bytes),
            "quota": default_quota(),
            "quota_bytes": size_words(default_quota().bytes),
            "owner_path": list_path(UploadReservation, q=f"owner:{item.owner}"),
            **actions_taken(UploadReservation, item.id),
        }
