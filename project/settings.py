"""
Settings of this site, all from the environment.

A project of one's own needs none of this: it installs the apps and sets what it wants to
change, under the names in the ``conf`` module of each app.
"""

from __future__ import annotations

import django

import deletions.conf
import emails.conf
import jobs.conf
import realtime.conf
import retention.conf
from project import env
from project.postgres import connection_parameters

BASE_DIR = env.BASE_DIR
VAR_DIR = env.var_directory()
SECRET_KEY = env.secret_key()
DEBUG = env.switch("DEBUG", default=False)
ALLOWED_HOSTS = env.names("ALLOWED_HOSTS", default="localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env.names("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "project.apps.ProjectConfig",
    "jobs",
    "jobs.signin",
    "emails",
    "deletions",
    "realtime",
    "retention",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.postgres",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "project.middleware.ContentSecurityPolicy",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "project.urls"
ASGI_APPLICATION = "project.asgi.application"
WSGI_APPLICATION = "project.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

DATABASES = {
    "default": {
        **(env.database("DATABASE_URL") or connection_parameters(VAR_DIR).django_settings()),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
    }
}
DIRECT_DATABASE_URL = env.text("DIRECT_DATABASE_URL")
env.database("DIRECT_DATABASE_URL")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# The engine's and the apps' own settings, each checked against its range.
for _app in (jobs, emails, deletions, realtime, retention):
    for _setting in _app.conf.SETTINGS:
        globals()[_setting.name] = env.read(_setting)
realtime.conf.check_heartbeat(
    lease_ms=globals()["REALTIME_LEASE_MS"], heartbeat_ms=globals()["REALTIME_HEARTBEAT_MS"]
)
EMAIL_DELIVERY_URL = emails.conf.DELIVERY_URL.parse(
    env.text("EMAIL_DELIVERY_URL")
    or ((VAR_DIR / "mail").as_uri() if env.uses_embedded_server() else "")
)
BACKUP_DIR = env.text("BACKUP_DIR") or str(VAR_DIR / "backups")
OBJECT_STORE_URL = env.read(jobs.conf.OBJECT_STORE_URL) or (VAR_DIR / "objects").as_uri()
if django.VERSION >= (6, 1):
    MAILERS = {"default": {"BACKEND": "emails.backend.QueueBackend"}}
else:
    EMAIL_BACKEND = "emails.backend.QueueBackend"
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL") or "engineroom@localhost"
# Mail of the site itself, such as alerts.
SERVER_EMAIL = DEFAULT_FROM_EMAIL
# Addresses; Django before 6.0 takes pairs only, which 6.1 warns of.
ADMINS = [address if django.VERSION >= (6, 0) else ("", address) for address in env.names("ADMINS")]

_public = env.public_url(default=f"http://{env.read(jobs.conf.WEB)}")
PUBLIC_URL = _public.url
SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _public.is_secure
if _public.host not in ALLOWED_HOSTS and env.text("PUBLIC_URL"):
    ALLOWED_HOSTS.append(_public.host)
if _public.is_secure:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    CSRF_TRUSTED_ORIGINS.append(_public.url)

STATIC_URL = "static/"
# Served from the apps' own folders: no collectstatic before the first start.
STATIC_ROOT = None
WHITENOISE_USE_FINDERS = True
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
LOGIN_URL = "admin:login"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name} {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": "INFO"},
    # Every command starts and stops the embedded server; that is no news.
    "loggers": {"project.postgres": {"level": "WARNING"}},
}
