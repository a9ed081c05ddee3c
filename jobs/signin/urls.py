"""The address of a link. Include it where you like; ``manage.py signin_link`` follows."""

from __future__ import annotations

from django.urls import path

from jobs.signin.views import LinkView

app_name = "jobs_signin"
urlpatterns = [path("<str:token>/", LinkView.as_view(), name="link")]
