"""The page of a link: GET shows a button and spends nothing, POST signs in."""

from __future__ import annotations

import logging

from django.conf import settings
from django.contrib.admin import site
from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.debug import sensitive_variables

from jobs.signin import links

logger = logging.getLogger(__name__)


@method_decorator(csrf_protect, name="dispatch")
class LinkView(View):
    """
    One address for every token.

    GET reads no table, so that nobody learns from it whether a token exists. What a POST
    answers is the same for unknown, used, expired and refused tokens.
    """

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        del token
        return _page(request, "jobs/signin/link.html", status=200)

    @method_decorator(sensitive_variables("token"))
    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        address = str(request.META.get("REMOTE_ADDR", ""))
        if links.must_wait(address):
            logger.warning("signin_attempts_limited address=%s", address)
            return _page(request, "jobs/signin/wait.html", status=429)
        user = links.spend(token)
        if user is None:
            if not links.is_known(token):
                links.note_unknown(address)
            logger.warning("signin_link_refused address=%s", address)
            return _page(request, "jobs/signin/refused.html", status=410)
        login(request, user, backend=settings.AUTHENTICATION_BACKENDS[0])
        logger.info("signin_link_used user=%s", user.pk)
        return _unstored(redirect("admin:index"))


def _page(request: HttpRequest, template: str, *, status: int) -> HttpResponse:
    names = {"site_header": site.site_header, "site_title": site.site_title}
    return _unstored(render(request, template, {"title": "Sign in", **names}, status=status))


def _unstored(response: HttpResponse) -> HttpResponse:
    # The address is the secret: no cache keeps it, no other site is told of it.
    response.headers["Cache-Control"] = "no-store"
    response.headers["Referrer-Policy"] = "same-origin"
    return response
