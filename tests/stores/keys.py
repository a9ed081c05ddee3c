"""Keys that stores and clients get wrong."""

from __future__ import annotations

ODD_KEYS = (
    "/lead",
    "a//b",
    "../x",
    "x/../y",
    "./dot",
    "trail/",
    "a\tb",
    "a\x01b",
    "a\rb",
    "日本語/キー",
    "e\u0301 and é",
    "space and+plus%41?#&<>",
    "n" * 900,
)
# Those of them that are a path in a directory as they stand.
PATHS = ("a\tb", "a\x01b", "a\rb", "日本語/キー", "e\u0301 and é", "space and+plus%41?#&<>")
