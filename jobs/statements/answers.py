"""
Answers of many rows made into Python values.

Django's own loader of instants is Python on top of psycopg's: three instants a row took as
long as all else that a claim needs of Python. In UTC psycopg's own gives the same.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import pq
from psycopg.adapt import AdaptersMap, Transformer
from psycopg.types.datetime import TimestamptzLoader

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, kw_only=True)
class _Context:
    """By which rules values are read."""

    adapters: AdaptersMap
    connection: psycopg.Connection[Any]


def read_rows(result: pq.abc.PGresult, connection: BaseDatabaseWrapper) -> Rows:
    """Return the rows of an answer as a cursor of the connection returns them."""
    server = connection.connection
    adapters = server.adapters
    if connection.timezone is dt.UTC:
        adapters = AdaptersMap(adapters)
        adapters.register_loader("timestamptz", TimestamptzLoader)
    transformer = Transformer(_Context(adapters=adapters, connection=server))
    transformer.set_pgresult(result)
    return transformer.load_rows(0, result.ntuples, tuple)
