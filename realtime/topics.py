"""
Who may subscribe to a topic.

Any signed-in user may, unless the topic is declared here with a rule. Of the changes of a
model, what a subscriber then gets is decided event by event, by the model's read rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

TOPIC_LENGTH = 200

Rule = Callable[[Any], bool]

_rules: dict[str, Rule] = {}


def declare_topic(topic: str, *, readable_by: Rule) -> None:
    """Let only those users subscribe for whom the function, given the user, returns True."""
    _rules[topic] = readable_by


def may_subscribe(topic: str, user: Any) -> bool:
    """Say whether the user may subscribe now. Raises what the rule raises."""
    rule = _rules.get(topic)
    return rule is None or bool(rule(user))


def is_topic(value: object) -> bool:
    """Say whether this is the name of a topic: printable, from 1 to 200 characters."""
    return isinstance(value, str) and 0 < len(value) <= TOPIC_LENGTH and value.isprintable()
