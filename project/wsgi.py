"""The site for a WSGI server."""

from __future__ import annotations

import os

from django.core.wsgi import get_wsgi_application

from project.entry import prepare

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
prepare()
application = get_wsgi_application()
