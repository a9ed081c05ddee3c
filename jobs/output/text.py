"""Text that others wrote, made fit for a terminal. Pure functions."""

from __future__ import annotations

import unicodedata

ELLIPSIS = "…"
REPLACEMENT = "\ufffd"
# They turn the reading direction, so that a line reads as something that it does not say.
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def one_line(text: str) -> str:
    """Return the text on one line, without anything that a terminal would obey."""
    return plain(" ".join(text.split()))


def plain(text: str) -> str:
    """Return the text with line breaks and tabs only; other control characters are replaced."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(character) for character in text)


def display_width(text: str) -> int:
    """Return how many columns of a terminal the text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def cut(text: str, width: int) -> str:
    """Return the text in so many columns at most, with an ellipsis where it was longer."""
    if display_width(text) <= width:
        return text
    kept, used = [], 1
    for character in text:
        used += _columns(character)
        if used > width:
            break
        kept.append(character)
    return "".join(kept) + ELLIPSIS if width > 0 else ""


def pad(text: str, width: int) -> str:
    """Return the text filled up with blanks to so many columns."""
    return text + " " * (width - display_width(text))


def _shown(character: str) -> str:
    if character in "\n\t":
        return character
    if character in TURNING or unicodedata.category(character) in ("Cc", "Cs"):
        return REPLACEMENT
    return character


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
