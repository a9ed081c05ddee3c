"""The page behind ``List-Unsubscribe`` (RFC 8058): POST acts, GET only shows."""

from __future__ import annotations

import logging

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.debug import sensitive_variables

from emails.unsubscribe import subscription_of

logger = logging.getLogger(__name__)


# The POST comes from the receiver's mail service, with no cookie and no page of ours before it;
# the address itself is the secret.
@method_decorator(csrf_exempt, name="dispatch")
class UnsubscribeView(View):
    """
    POST unsubscribes: 200, also the second time, without cookie, token or redirect.

    GET changes nothing, since mail scanners follow links: it shows a button that POSTs.
    """

    http_method_names = ["get", "head", "post", "options"]

    @method_decorator(sensitive_variables("token"))
    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        subscription = subscription_of(token)
        if subscription is None:
            return _page(request, "unknown", status=404)
        return _page(request, "ask", list_name=subscription.list_name)

    @method_decorator(sensitive_variables("token"))
    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        subscription = subscription_of(token)
        if subscription is None:
            return _page(request, "unknown", status=404)
        cancelled = subscription.end()
        logger.info("unsubscribed list=%s cancelled=%s", subscription.list_name, cancelled)
        return _page(request, "done", list_name=subscription.list_name)


def _page(
    request: HttpRequest, what: str, *, status: int = 200, list_name: str = ""
) -> HttpResponse:
    context = {"what": what, "list_name": list_name}
    response = render(request, "emails/unsubscribe.html", context, status=status)
    response.headers["Cache-Control"] = "no-store"
    response.headers["Referrer-Policy"] = "no-referrer"
    response.headers["X-Robots-Tag"] = "noindex"
    return response
