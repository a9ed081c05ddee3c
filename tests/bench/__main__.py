"""``python -m tests.bench [--short] [--only SECTION …]``."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from tests.bench.cluster import own_cluster

CHECKOUT = Path(__file__).resolve().parent.parent.parent


def main() -> int:
    """Measure, print the table, write ``bench.json`` in the checkout."""
    options = _options()
    # Ended by a time limit, it still ends its workers and its server.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with own_cluster(CHECKOUT / "var" / f"bench-{os.getpid()}"):
        from tests.bench import report, sections

        figures = sections.measure(short=options.short, only=options.only, say=_say)
        _say(report.table(figures))
    if not options.only:
        report.write(figures, CHECKOUT / "bench.json")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--short", action="store_true", help="under a minute, with fewer rows")
    parser.add_argument("--only", nargs="+", metavar="SECTION", default=[], help="these alone")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
