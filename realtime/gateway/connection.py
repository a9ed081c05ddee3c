"""The gateway's own connections: psycopg's asynchronous ones, past any pooler, autocommit."""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg

from jobs import direct
from realtime.statements import statement

Connection = psycopg.AsyncConnection[tuple[Any, ...]]
STEP_SECONDS = 10.0


async def connect(application_name: str) -> Connection:
    """Open a connection. Raises psycopg.OperationalError, TimeoutError."""
    parameters = await asyncio.to_thread(direct.parameters, application_name=application_name)
    async with asyncio.timeout(direct.CONNECT_SECONDS + 1):
        return await psycopg.AsyncConnection.connect(
            **parameters, autocommit=True, prepare_threshold=None
        )


async def rows(connection: Connection, name: str, **values: Any) -> list[tuple[Any, ...]]:
    """Run the statement of that file; return its rows. Raises TimeoutError after 10 s."""
    async with asyncio.timeout(STEP_SECONDS):
        cursor = await connection.execute(statement(name).encode(), values)
        return await cursor.fetchall()
