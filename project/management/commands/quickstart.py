"""From nothing to a running site: migrate, an operator, a sign-in link, the workers."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import get_user_model
from django.core.management import call_command

from jobs import conf
from jobs.commands import EngineCommand
from jobs.signin.links import create_link
from project import env

OPERATOR = "admin"


class Command(EngineCommand):
    help = "Migrate, print the site's address and a sign-in link, and run the jobs and the site."
    requires_system_checks = []

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(f"PostgreSQL: {self._server()}")
        call_command("migrate", interactive=False, verbosity=0)
        host, port = conf.split_address(conf.WEB.name, conf.WEB.get())
        self.stdout.write(f"The site:   {env.public_url(default=f'http://{host}:{port}').url}")
        self._sign_in()
        call_command("runworkers", web="")

    def _server(self) -> str:
        if env.uses_embedded_server():
            return f"embedded, in {env.var_directory() / 'postgres'}"
        return "DATABASE_URL"

    def _sign_in(self) -> None:
        """Print a link for the operator; on the embedded server make one if there is none."""
        users = get_user_model()._default_manager
        operator = users.filter(is_superuser=True, is_active=True).order_by("pk").first()
        if operator is None and env.uses_embedded_server():
            # No password: a link signs in, once, so there is none to leak.
            operator = users.create_superuser(OPERATOR, email=None, password=None)
        if operator is None:
            self.stdout.write("No superuser yet: manage.py createsuperuser")
            return
        _, path = create_link(operator)
        link = f"{conf.PUBLIC_URL.get()}{path}"
        self.stdout.write(f"Sign in as {operator} (once, within 15 minutes): {link}")
