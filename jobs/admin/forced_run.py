"""
``POST …/<job id>/run``: a forced run for scripts that have a session.

202 ``{"run_id", "status", "coalesced"}``; 403 without the permission, 404 for an id that
nobody declares, with the nearest one, 405 for another method, 409 for a job that may not be
forced. ``reason`` is optional, in a form or in JSON.
"""

from __future__ import annotations

import json
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect

from jobs.admin.job_verbs import RUN, ask_for_run
from jobs.errors import EngineroomError, ManualRunRefusedError, UnknownJobError
from jobs.models import JobRun
from jobs.reads.links import object_path

LONGEST_REASON = 2000


class ReasonError(EngineroomError):
    """A body from which no reason can be read."""

    def __init__(self) -> None:
        super().__init__(
            f'The reason is not a text of at most {LONGEST_REASON:,} characters: send {{"reason": '
            '"…"}, a form field of that name, or nothing.'
        )


@csrf_protect
@never_cache
def forced_run(request: HttpRequest, job_id: str) -> JsonResponse:
    """Ask for a run of a job by hand."""
    if request.method != "POST":
        words = "Send a POST: it asks for a run of this job."
        return _refusal(405, words, headers={"Allow": "POST"})
    user: Any = request.user
    if not (user.is_active and user.is_staff and user.has_perm(RUN.permission)):
        return _refusal(403, f"Running a job by hand needs the permission {RUN.permission}.")
    try:
        answer = ask_for_run(job_id, user, _reason(request))
    except ReasonError as error:
        return _refusal(400, str(error))
    except UnknownJobError as error:
        return _refusal(404, str(error), nearest=error.nearest)
    except ManualRunRefusedError as error:
        return _refusal(409, str(error))
    return JsonResponse(
        {"run_id": answer.run_id, "status": answer.status, "coalesced": answer.coalesced},
        status=202,
        headers={"Location": object_path(JobRun, answer.run_id)},
    )


def _reason(request: HttpRequest) -> str:
    given: Any = request.POST.get("reason", "")
    if request.content_type == "application/json":
        try:
            body = json.loads(request.body or b"{}")
        except ValueError:
            raise ReasonError from None
        given = body.get("reason", "") if isinstance(body, dict) else None
    if not isinstance(given, str) or len(given) > LONGEST_REASON:
        raise ReasonError
    return given


def _refusal(
    status: int, error: str, *, headers: dict[str, str] | None = None, **more: object
) -> JsonResponse:
    return JsonResponse({"error": error, **more}, status=status, headers=headers)
