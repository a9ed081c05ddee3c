"""A worker's project need not have the admin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

ROOT = Path(__file__).resolve().parents[2]
OWN_SETTINGS = """
import json
import os

SECRET_KEY = "only-for-tests"
INSTALLED_APPS = ["jobs", "emails"]
DATABASES = {"default": json.loads(os.environ["TEST_DATABASE"])}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
ROOT_URLCONF = "plain_urls"
USE_TZ = True
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
EMAIL_DELIVERY_URL = "file:///tmp/mail"
"""
OWN_URLS = """
from django.urls import include, path

urlpatterns = [path("", include("jobs.health.urls"))]
"""


@pytest.fixture
def manage(db, tmp_path):
    """Run a command of a project that has installed the apps, and no admin."""
    (tmp_path / "plain_settings.py").write_text(OWN_SETTINGS)
    (tmp_path / "plain_urls.py").write_text(OWN_URLS)
    names = ("ENGINE", "NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS")
    database = {name: connection.settings_dict[name] for name in names}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-W", "error", "-m", "django", *arguments],
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "plain_settings",
                "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}",
                "TEST_DATABASE": json.dumps(database),
            },
            capture_output=True,
            text=True,
            check=False,
            timeout=50,
        )

    return run


def test_the_system_checks_pass_without_the_admin(manage):
    done = manage("check", "--fail-level", "WARNING")

    assert (done.returncode, done.stderr) == (0, "")


def test_a_worker_lists_its_jobs_without_the_admin(manage):
    done = manage("runworkers", "--list")

    assert done.returncode == 0, done.stderr
    assert "emails.processor" in done.stdout
    assert "jobs.alerts" in done.stdout


def test_the_tests_themselves_have_the_admin():
    assert "django.contrib.admin" in settings.INSTALLED_APPS
