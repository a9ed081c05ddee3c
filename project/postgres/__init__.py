"""The site's own PostgreSQL, for when there is no DATABASE_URL.

Terms: `var` is the checkout's directory of run-time files; the *data directory* is
PostgreSQL's; the *record* (`var/postgres.json`) says where that and the socket are; a process
*attaches* to use the server and *detaches*; the *mutex* is held while the server is started or
stopped; to *adopt* is to use a server that another process has started.

Nothing here imports Django: the server is up before the settings are read.
"""

from __future__ import annotations

from project.postgres.address import ServerAddress
from project.postgres.attachment import (
    Attachment,
    attach,
    connection_parameters,
    programs_directory,
)
from project.postgres.errors import EmbeddedPostgresError

__all__ = [
    "Attachment",
    "EmbeddedPostgresError",
    "ServerAddress",
    "attach",
    "connection_parameters",
    "programs_directory",
]
