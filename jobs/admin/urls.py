"""
The forced run's short address, to be included before the admin's own addresses:

    path("admin/jobs/", include("jobs.admin.urls")),
    path("admin/", admin.site.urls),

Without it the page of the job has the same: ``admin/jobs/jobstate/<job id>/run``.
"""

from __future__ import annotations

from django.urls import path

from jobs.admin.forced_run import forced_run

urlpatterns = [path("<str:job_id>/run", forced_run, name="jobs-forced-run")]
