"""Why a process is not well."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Reason:
    """One thing that is wrong: a code for programs, a sentence for people."""

    code: str  # database, migrations, loop, draining
    detail: str
