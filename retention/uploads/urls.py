"""
The public address of uploads, for stores that have none of their own.

``path("uploads/", include("retention.uploads.urls"))`` in the project's URLs.
"""

from __future__ import annotations

from django.urls import path

from retention.uploads.views import UploadView

app_name = "uploads"
# Without a slash at the end: to one with it, curl would add the name of the file.
urlpatterns = [path("<str:token>", UploadView.as_view(), name="put")]
