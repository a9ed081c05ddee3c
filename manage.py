#!/usr/bin/env python3
"""Run a command of this site."""

from __future__ import annotations

import os
import sys

from project.entry import run

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
    sys.exit(run(sys.argv))
