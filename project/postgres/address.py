"""How the site reaches the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from project.postgres import sockets
from project.postgres.passwords import DATABASE, ROLE


@dataclass(frozen=True, kw_only=True)
class ServerAddress:
    """A database on the embedded server, as the site's own role."""

    # The directory of the Unix socket.
    host: str
    passfile: str
    port: int = sockets.PORT
    user: str = ROLE
    dbname: str = DATABASE

    def django_settings(self) -> dict[str, Any]:
        """Return an entry for Django's DATABASES."""
        return {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": self.dbname,
            "USER": self.user,
            "HOST": self.host,
            "PORT": str(self.port),
            "OPTIONS": {"passfile": self.passfile},
        }

    def libpq_environment(self) -> dict[str, str]:
        """Return the variables that lead psql, pg_dump and pg_restore to the database."""
        return {
            "PGHOST": self.host,
            "PGPORT": str(self.port),
            "PGUSER": self.user,
            "PGDATABASE": self.dbname,
            "PGPASSFILE": self.passfile,
        }
