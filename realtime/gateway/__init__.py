"""
The Socket.IO server of a site, in the process that serves it.

In ``asgi.py``:

    application = realtime.gateway.wrap(get_asgi_application())

Clients connect to ``/socket.io/`` of the same site. They come in by Django's session cookie
or with ``auth={"token": realtime.token(user)}``, subscribe to topics, and get what
``realtime.publish`` publishes and they may see, whichever process it comes from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jobs.errors import MissingPackageError

if TYPE_CHECKING:
    from realtime.gateway.application import GatewayApplication


def wrap(application: Any) -> GatewayApplication:
    """
    Return the ASGI application with the gateway before it.

    Raises MissingPackageError without python-socketio.
    """
    try:
        from realtime.gateway.application import GatewayApplication
    except ModuleNotFoundError as error:
        if error.name not in ("socketio", "engineio"):
            raise
        raise MissingPackageError(
            "realtime.gateway", "python-socketio", "engineroom[realtime]"
        ) from None
    return GatewayApplication(application)
