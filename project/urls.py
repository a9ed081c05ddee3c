"""The addresses of this site."""

from __future__ import annotations

from django.contrib import admin
from django.templatetags.static import static
from django.urls import include, path
from django.utils.functional import lazy
from django.views.generic import RedirectView

# At the first request: with hashed names the address is known only then.
favicon = lazy(static, str)("jobs/favicon.svg")

admin.site.site_header = admin.site.site_title = "Engineroom"
admin.site.index_title = "Console"

urlpatterns = [
    path("", RedirectView.as_view(pattern_name="admin:index"), name="home"),
    path("favicon.ico", RedirectView.as_view(url=favicon)),
    path("admin/jobs/", include("jobs.admin.urls")),
    path("admin/realtime/", include("realtime.live.urls")),
    path("admin/", admin.site.urls),
    path("signin/", include("jobs.signin.urls")),
    path("mail/", include("emails.urls")),
    path("uploads/", include("retention.uploads.urls")),
    path("", include("jobs.health.urls")),
]
