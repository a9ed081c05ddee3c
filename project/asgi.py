"""The site for an ASGI server."""

from __future__ import annotations

import os

from django.core.asgi import get_asgi_application

from project.entry import prepare
from realtime import gateway

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
prepare()
application = gateway.wrap(get_asgi_application())
