"""Sockets that are connected, as far as the database knows."""

from __future__ import annotations

import datetime as dt

from realtime.models import RealtimeSession


def connect(sid: str, user: str, *topics: str, expired: bool = False) -> RealtimeSession:
    """Record a socket that is subscribed to topics."""
    now = dt.datetime.now(dt.UTC)
    return RealtimeSession.objects.create(
        sid=sid,
        user_key=user,
        topics=list(topics),
        process_id="host:1:aa",
        subscribed_at=now - dt.timedelta(hours=1),
        expires_at=now + dt.timedelta(seconds=-1 if expired else 90),
    )
