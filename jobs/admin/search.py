"""Exact-match search: a number is a key, ``name:value`` an indexed column, nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from django.db.models import Q

LONGEST_NUMBER = 18  # what a bigint holds for certain


def search_condition(term: str, keys: Mapping[str, str]) -> Q | None:
    """
    Return the condition of a search term; None for a term that has no exact meaning.

    ``keys`` maps the names that people type to columns with an index.
    """
    text = term.strip()
    number = whole_number(text)
    if number is not None:
        return Q(pk=number)
    name, separator, value = text.partition(":")
    column = keys.get(name.strip().lower())
    if not separator or column is None or not value.strip():
        return None
    return Q(**{column: value.strip()})


def search_help(noun: str, keys: Mapping[str, str]) -> str:
    """Return the line that says what can be searched for."""
    article = "an" if noun[:1].lower() in "aeio" else "a"
    what = [f"the id of {article} {noun}", *(f"{name}:…" for name in keys)]
    return f"Exact matches only: {', '.join(what)}"


def whole_number(text: str) -> int | None:
    """Return a key in plain digits as a number, None for anything else."""
    fits = text.isascii() and text.isdigit() and len(text) <= LONGEST_NUMBER
    return int(text) if fits else None
