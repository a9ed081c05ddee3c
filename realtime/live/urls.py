"""
The live page's address, to be included before the admin's own addresses:

    path("admin/realtime/", include("realtime.live.urls")),
    path("admin/", admin.site.urls),
"""

from __future__ import annotations

from django.contrib import admin
from django.urls import path

from realtime.live.views import live_runs

urlpatterns = [path("live/", admin.site.admin_view(live_runs), name="realtime-live")]
