"""Masks secrets before anything is stored or printed."""

from __future__ import annotations

import re

MASK = "****"

# Begins at the fixed "://" and is bounded, so that a long text costs no more than its length.
_URL_PASSWORD = re.compile(r"(?P<head>://[^\s:/?#@]{0,200}:)[^\s/]{0,500}(?=@)")
_HEADER = re.compile(
    r"(?P<head>\b(?:proxy-)?authorization['\"]?\s*[:=]\s*['\"]?(?:(?:basic|bearer|digest)\s+)?)"
    r"[^\s'\",;]+",
    re.IGNORECASE,
)
_PAIR = re.compile(
    r"(?P<head>\b(?:password|passwd|secret|token|api[_-]?key)['\"]?\s*[:=]\s*['\"]?)[^\s'\",;&]+",
    re.IGNORECASE,
)
# The words that an SMTP client sends after AUTH are the credentials themselves.
_AUTH = re.compile(r"(?P<head>\bAUTH\s+(?:PLAIN|LOGIN|CRAM-MD5|XOAUTH2)\s+)\S+", re.IGNORECASE)


def mask_secrets(text: str) -> str:
    """Return the text with passwords in URLs, authorisation headers and the like masked."""
    for pattern in (_URL_PASSWORD, _AUTH, _HEADER, _PAIR):
        text = pattern.sub(rf"\g<head>{MASK}", text)
    return text
