"""The passwords of the server's two roles, kept in a file in libpq's form."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from project.postgres.places import Places, replace_in_var

SUPERUSER = "postgres"
# The site's role owns its database and may create others (tests do), but is no superuser:
# what would need one fails here as it would on a hosted PostgreSQL.
ROLE = "engineroom"
DATABASE = "engineroom"


@dataclass(frozen=True, kw_only=True)
class Passwords:
    """Random and hexadecimal: they need no quoting anywhere."""

    superuser: str
    role: str


def load_passwords(places: Places) -> Passwords | None:
    """Return what the file holds, or None when it is missing or damaged."""
    try:
        lines = places.passfile.read_text(encoding="ascii").splitlines()
        by_user = {line.split(":")[3]: line.split(":")[4] for line in lines}
        return Passwords(superuser=by_user[SUPERUSER], role=by_user[ROLE])
    except (OSError, ValueError, LookupError):
        return None


def make_passwords(places: Places) -> Passwords:
    """Make new passwords and write the file, readable by its owner only (libpq insists)."""
    made = Passwords(superuser=secrets.token_hex(24), role=secrets.token_hex(24))
    pairs = ((ROLE, made.role), (SUPERUSER, made.superuser))
    content = "".join(f"*:*:*:{user}:{password}\n" for user, password in pairs)
    replace_in_var(places.passfile, content=content)
    return made
