"""
The parts of a mail: its text, its HTML in a frame that can do nothing, its attachments listed.

The HTML is what somebody else may have written. It is a document of its own, with a policy
of its own that loads nothing from anywhere, in a frame without scripts, forms and navigation.
"""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse

from emails.models import EmailBody, EmailJob
from emails.rendering import MessageParts, message_parts
from jobs.admin.base import BigTableAdmin
from jobs.reads.bounded import bounded

PERMISSION = "emails.view_body"
# ``sandbox`` also for whoever opens the document by itself.
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'; "
    "base-uri 'none'; frame-ancestors 'self'; sandbox"
)


class BodyAdmin(BigTableAdmin):
    """Adds two pages to a mail: its parts, and its HTML alone."""

    class Media:
        css = {"all": ("emails/mail.css",)}

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        own = [
            path("<int:number>/body/", wrap(self.body_view), name="emails_emailjob_body"),
            path("<int:number>/body/html/", wrap(self.html_view), name="emails_emailjob_html"),
        ]
        return [*own, *super().get_urls()]

    def may_view_body(self, request: HttpRequest) -> bool:
        """Say whether the user may see what is in mail."""
        return self.has_view_permission(request) and request.user.has_perm(PERMISSION)

    def body_path(self, number: int) -> str:
        """Return the address of the page with a mail's parts."""
        return reverse(
            "admin:emails_emailjob_body", args=[number], current_app=self.admin_site.name
        )

    def body_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """Show text, frame and attachments."""
        mail, parts = self._read(request, number)
        answer = self.console_page(
            request,
            "emails/admin/body.html",
            title=f"Message of mail {number}",
            mail=mail,
            parts=parts,
            html_path=reverse(
                "admin:emails_emailjob_html", args=[number], current_app=self.admin_site.name
            ),
        )
        answer.headers["Cache-Control"] = "no-store"
        return answer

    def html_view(self, request: HttpRequest, number: int) -> HttpResponse:
        """Serve the HTML part as a document that can do nothing."""
        _, parts = self._read(request, number)
        if parts is None or parts.html is None:
            raise Http404(f"Mail {number} has no HTML.")
        answer = HttpResponse(parts.html, content_type="text/html; charset=utf-8")
        answer.headers["Content-Security-Policy"] = POLICY
        answer.headers["X-Frame-Options"] = "SAMEORIGIN"
        answer.headers["X-Content-Type-Options"] = "nosniff"
        answer.headers["Referrer-Policy"] = "no-referrer"
        answer.headers["Cache-Control"] = "no-store"
        return answer

    def _read(self, request: HttpRequest, number: int) -> tuple[Any, MessageParts | None]:
        if request.method not in ("GET", "HEAD") or not self.may_view_body(request):
            raise PermissionDenied
        with bounded():
            mail = EmailJob.objects.filter(pk=number).first()
            raw = EmailBody.objects.filter(pk=number).values_list("raw", flat=True).first()
        if mail is None:
            raise Http404(f"There is no mail {number}.")
        return mail, None if raw is None else message_parts(bytes(raw))
