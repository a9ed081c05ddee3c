"""The list of targets: every declared one, whether or not it has a row."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from jobs.admin.changelist import BoundedChangeList, KeyPage
from retention.models import TargetConfig
from retention.reads import TargetItem, list_targets


class TargetChangeList(BoundedChangeList):
    """In the order in which they are swept."""

    def read_page(self, request: HttpRequest) -> KeyPage:
        return KeyPage(rows=tuple(_row(item) for item in list_targets().items))


def _row(item: TargetItem) -> Any:
    row: Any = TargetConfig(name=item.id, days=item.days, enabled=item.enabled)
    row.item = item
    return row
