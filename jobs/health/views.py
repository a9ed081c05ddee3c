"""
The health pages of the site.

A load balancer asks over plain HTTP by address: where ``SECURE_SSL_REDIRECT`` is on, it
sends ``X-Forwarded-Proto: https`` or the two paths go into ``SECURE_REDIRECT_EXEMPT``,
and the name that it asks by is among ``ALLOWED_HOSTS``.
"""

from __future__ import annotations

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from jobs.health import answers
from jobs.health.answers import Answer


@csrf_exempt
@login_not_required
@never_cache
@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    """200 while the loops of this process tick, 503 with their names otherwise."""
    return _respond(answers.live())


@csrf_exempt
@login_not_required
@never_cache
@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """200 when this process can serve, 503 with the reasons otherwise."""
    return _respond(answers.ready())


def _respond(answer: Answer) -> JsonResponse:
    return JsonResponse(answer.body, status=answer.status)
