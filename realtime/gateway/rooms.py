"""
The names of rooms, made by the server alone.

A socket id is itself a room of python-socketio. Every name here begins with a prefix and a
colon, which no socket id holds, so no topic's name can be one.
"""

from __future__ import annotations

from urllib.parse import quote


def topic_room(topic: str) -> str:
    """Return the room of all subscribers of a topic."""
    return f"topic:{topic}"


def user_room(user_key: str, topic: str) -> str:
    """Return the room of a user's subscriptions of a topic."""
    # Quoted, the key holds no colon: no two pairs make one name.
    return f"user:{quote(user_key, safe='')}:{topic}"
