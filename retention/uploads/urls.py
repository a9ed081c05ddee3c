"""
The public address of uploads, for stores that have none of their own.

``path("uploads/", include("retention.uploads.urls"))`` in the project's URLs.
"""

from __future__ import annotations

from django.urls import path

from retention.uploads.views import UploadView

app_name = "uploads"
urlpatterns = [path("<str:token>/", UploadView.as_view(), name="put")]
