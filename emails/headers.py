"""Headers on the wire: which names and values are allowed, and where a line may be folded.

Written once here because Python's two policies disagree: the modern one breaks URLs of 80
characters into encoded-words and, in some versions, mixed subjects (python/cpython#85725, #144156).
"""

from __future__ import annotations

import email.header
import email.message
import email.policy
import email.utils
import re
import urllib.parse
from collections.abc import Iterable, Iterator
from typing import Any

from emails import addresses
from emails.addresses import check_characters, decode_words, encode_words
from emails.errors import InvalidHeaderName, InvalidHeaderValue

LINE_LENGTH = 76  # with an encoded-word in it, RFC 2047 §2; without, 78 would do
LONGEST_LINE = 998  # RFC 5322 §2.1.1
NAME = re.compile(r"[!-9;-~]+")
LONGEST_NAME = 200
PIECE = re.compile(r"[ \t]*[^ \t]+")
BRACKETED = re.compile(r"[ \t]*(?:<[^<>]*>|[^ \t])+")
PLAIN_VALUE = re.compile(r"[!-~]+(?:[ \t]{1,60}[!-~]+)*")
TOKEN_VALUE = re.compile(r"[!#$&+.0-9A-Za-z^_`|~-]+")
PLAIN_PARAMETER = re.compile(r"[ !#-\[\]-~]*")
FOLD = re.compile(r"(?:\r\n|\r|\n)(?=[ \t])")
ADDRESS_HEADERS = frozenset(
    [
        "from",
        "sender",
        "reply-to",
        "to",
        "cc",
        "resent-from",
        "resent-sender",
        "resent-to",
        "resent-cc",
        "disposition-notification-to",
    ]
)
ID_HEADERS = frozenset(
    ["message-id", "in-reply-to", "references", "content-id", "resent-message-id"]
)
PARAMETER_HEADERS = frozenset(["content-type", "content-disposition"])


class Opaque(str):
    """The value of a header that is written as mere text, whatever its name.

    For what somebody else's message, attached to this one, has in its headers.
    """

    __slots__ = ()


class WirePolicy(email.policy.EmailPolicy):
    """The policy with which a finished message is flattened: CRLF, 7 bits, headers folded here."""

    def fold(self, name: str, value: Any) -> str:
        if self.max_line_length == 0:  # the generator's way to say: signed, leave it as it is
            return f"{name}: {unfolded(value, keep_folds=True)}\r\n"
        return fold_header(name, value)

    def fold_binary(self, name: str, value: Any) -> bytes:
        return self.fold(name, value).encode("ascii", "replace")


WIRE_POLICY = WirePolicy(linesep="\r\n", cte_type="7bit", mangle_from_=False, utf8=False)


def check_name(name: str) -> None:
    """Refuse a header name outside RFC 5322 §2.2: raises InvalidHeaderName."""
    if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
        raise InvalidHeaderName(name)


def fold_header(name: str, value: Any) -> str:
    """Write one header as ASCII lines of at most 76 characters where it can be folded, with CRLF.

    `value` is text, decoded or with encoded-words, or one of the standard library's header objects.
    A URL or an id is never broken. Raises InvalidHeaderName, InvalidHeaderValue.
    """
    check_name(name)
    kind = name.lower()
    if isinstance(value, Opaque):
        lines = _join(name, _text_pieces(name, value))
    elif kind in PARAMETER_HEADERS:
        lines = _join(name, _parameter_pieces(name, value))
    elif kind in ADDRESS_HEADERS:
        lines = _join(name, _address_pieces(name, unfolded(value)))
    elif kind in ID_HEADERS or kind.startswith("list-"):
        lines = _join(name, _bracketed_pieces(name, unfolded(value)))
    else:
        lines = _join(name, _text_pieces(name, unfolded(value)))
    if any(len(line) > LONGEST_LINE for line in lines):
        raise InvalidHeaderValue(name, str(value), allowed=f"no word above {LONGEST_LINE} bytes")
    return "\r\n".join(lines) + "\r\n"


def parameters(value: Any) -> tuple[str, dict[str, str]]:
    """Take a Content-Type or Content-Disposition apart: its value and its decoded parameters."""
    if hasattr(value, "params"):  # a parsed header of the modern API
        main = getattr(value, "content_type", None) or getattr(value, "content_disposition", "")
        return str(main or ""), dict(value.params)
    holder = email.message.Message()
    holder["Content-Type"] = unfolded(value)
    (main, _), *rest = holder.get_params(failobj=[("", "")])
    return main, {name.lower(): _decoded(part) for name, part in rest if name}


def _decoded(parameter: str | tuple[str | None, str | None, str]) -> str:
    if isinstance(parameter, str):  # unquoted already; once more would strip <> and quotes
        return parameter
    return email.utils.collapse_rfc2231_value(parameter, errors="replace")


def unfolded(value: Any, *, keep_folds: bool = False) -> str:
    text = str(value)
    if isinstance(value, email.header.Header) or _has_escapes(text):
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    if keep_folds:
        return re.sub(r"\r\n|\r|\n", "\r\n", text)
    return FOLD.sub("", text)


def _has_escapes(text: str) -> bool:
    return any("\udc80" <= character <= "\udcff" for character in text)


def _join(name: str, pieces: Iterable[str]) -> list[str]:
    """Put pieces on lines. A piece begins with the whitespace at which it may be folded."""
    lines, line = [], f"{name}:"
    for piece in pieces:
        # The first piece stays on the first line if it cannot be folded away from the name:
        # a line of nothing but the name confuses old servers.
        fits = len(line) + len(piece) <= LINE_LENGTH
        if fits or (line == f"{name}:" and not piece.lstrip().startswith("=?")):
            line += piece
        else:
            lines.append(line)
            line = piece
    return [*lines, line]


def _text_pieces(name: str, value: str) -> Iterator[str]:
    check_characters(value, header=name)
    text = decode_words(value)
    check_characters(text, header=name)
    if text == "":
        yield " "
    elif PLAIN_VALUE.fullmatch(text) and "=?" not in text and _longest(text) < LONGEST_LINE - 250:
        yield from PIECE.findall(f" {text}")
    else:
        yield from (f" {word}" for word in _words(name, text))


def _longest(text: str) -> int:
    return max(map(len, text.split()), default=0)


def _words(name: str, text: str) -> list[str]:
    room = LINE_LENGTH - len(name) - 2
    smallest = len("=?utf-8?b?AAAAAAAA?=")
    return encode_words(text, first_room=room if room >= smallest else addresses.WORD_LENGTH)


def _address_pieces(name: str, value: str) -> Iterator[str]:
    check_characters(value, header=name)
    if addresses.is_empty_group(value):
        yield f" {value.strip()}"
        return
    mailboxes = addresses.parse_mailboxes(value, header=name)
    for position, mailbox in enumerate(mailboxes):
        tokens = mailbox.header_tokens
        comma = "," if position < len(mailboxes) - 1 else ""
        yield from (f" {token}" for token in tokens[:-1])
        yield f" {tokens[-1]}{comma}"


def _bracketed_pieces(name: str, value: str) -> Iterator[str]:
    check_characters(value, header=name)
    for piece in BRACKETED.findall(f" {decode_words(value).strip()}"):
        if re.fullmatch(r"[ \t]*[!-~]*", piece):
            yield piece
        elif "<" in piece or name.lower() in ID_HEADERS:
            raise InvalidHeaderValue(name, value, allowed="ASCII without spaces in a URL or id")
        else:
            yield from (f" {word}" for word in _words(name, piece.strip()))


def _parameter_pieces(header: str, value: Any) -> Iterator[str]:
    main, found = parameters(value)
    if not re.fullmatch(r"[ -~]*", main) or not all(map(TOKEN_VALUE.fullmatch, found)):
        raise InvalidHeaderValue(header, str(value), allowed="ASCII but for values of parameters")
    pieces = [f" {main}"]
    for name, text in found.items():
        pieces += [f" {piece}" for piece in _parameter(name, text)]
    yield from (f"{piece};" for piece in pieces[:-1])
    yield pieces[-1]


def _parameter(name: str, text: str) -> list[str]:
    """Write a parameter, in the way of RFC 2231 where it is long or not plain ASCII."""
    # What parsers read differently goes the long way: quotes, backslashes, spaces and angle
    # brackets at the ends, and what looks like an encoded-word.
    if PLAIN_PARAMETER.fullmatch(text) and text == text.strip(" <>") and "=?" not in text:
        plain = text if TOKEN_VALUE.fullmatch(text) else f'"{text}"'
        if len(name) + len(plain) + 3 <= LINE_LENGTH or name == "boundary":
            return [f"{name}={plain}"]
    whole = _percent_encoded(text)
    if len(name) + len(whole) + len("*=utf-8'';") + 1 <= LINE_LENGTH:
        return [f"{name}*=utf-8''{whole}"]
    return _continued(name, text)


def _continued(name: str, text: str) -> list[str]:
    pieces: list[str] = []
    chunk = "utf-8''"
    for character in text:
        encoded = _percent_encoded(character)
        head = f"{name}*{len(pieces)}*="
        if len(head) + len(chunk) + len(encoded) + 2 > LINE_LENGTH:
            pieces.append(head + chunk)
            chunk = ""
        chunk += encoded
    return [*pieces, f"{name}*{len(pieces)}*={chunk}"]


def _percent_encoded(text: str) -> str:
    return urllib.parse.quote(text, safe="", encoding="utf-8")
