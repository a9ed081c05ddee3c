"""The site's addresses, with Django's own views of accounts."""

from __future__ import annotations

from django.urls import include, path

from project.urls import urlpatterns as site

urlpatterns = [*site, path("accounts/", include("django.contrib.auth.urls"))]
