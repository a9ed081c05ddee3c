"""What alerts raise."""

from __future__ import annotations

from jobs.errors import EngineroomError


class EvaluationTimeoutError(EngineroomError):
    """An evaluation whose time was used up by what it read before."""

    def __init__(self) -> None:
        super().__init__("The database was too slow: this was not looked at.")


class UnknownAlertError(EngineroomError):
    """An alert id that does not exist."""

    def __init__(self, alert_id: int) -> None:
        super().__init__(f"There is no alert {alert_id}: see manage.py alerts list.")


class ResolvedAlertError(EngineroomError):
    """An alert that is not open any more, so that there is nothing to acknowledge."""

    def __init__(self, alert_id: int, rule: str, subject: str) -> None:
        super().__init__(f"Alert {alert_id} ({rule} {subject}) is resolved already.")


class PastAcknowledgementError(EngineroomError):
    """An acknowledgement that ends before it begins."""

    def __init__(self, until: object) -> None:
        super().__init__(f"The acknowledgement ends at {until}, which is past: name a later time.")


class WebhookRefusedError(EngineroomError):
    """A webhook that answered with anything but success."""

    def __init__(self, status: int) -> None:
        super().__init__(f"ALERT_WEBHOOK_URL answered {status}; 200 to 299 is success.")


class WebhookSilentError(EngineroomError):
    """A webhook that did not answer in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"ALERT_WEBHOOK_URL did not answer within {seconds:g} s.")
