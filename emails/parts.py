"""The MIME parts of a message, each in 7 bits: quoted-printable for text, base64 for the rest."""

from __future__ import annotations

import base64
import binascii
import copy
import email
import email.message
import mimetypes
import re
import secrets
import urllib.parse
from email.mime.base import MIMEBase
from typing import Any

from django.conf import settings
from django.core.mail import EmailMessage
from django.utils.functional import Promise

from emails import headers
from emails.addresses import check_characters
from emails.errors import InvalidHeaderName, InvalidMediaType, RefusedMessage, UnencodableText

BINARY = "application/octet-stream"
MEDIA_TYPE = re.compile(r"[!#$&+.0-9A-Za-z^_`|~'*%{}-]+/[!#$&+.0-9A-Za-z^_`|~'*%{}-]+")
ENCODING = "Content-Transfer-Encoding"
KEPT_ENCODINGS = frozenset(["7bit", "base64", "quoted-printable"])
Part = email.message.Message


def build_parts(message: EmailMessage) -> Part:
    """Build body, alternatives and attachments of a Django message, with their own headers only.

    Raises RefusedMessage, a ValueError; the message given is not changed.
    """
    charset = charset_of(message)
    root = _bodies(message, charset=charset)
    if not message.attachments:
        return root if root is not None else text_part("", subtype="plain", charset=charset)
    attached = [_attachment(item, charset=charset) for item in message.attachments]
    bodies = [] if root is None else [root]
    return _multipart(getattr(message, "mixed_subtype", "mixed"), [*bodies, *attached])


def charset_of(message: EmailMessage) -> str:
    """Return the name of the character set in which a message's text is to be written."""
    encoding = message.encoding or settings.DEFAULT_CHARSET
    return str(getattr(encoding, "output_charset", None) or encoding)


def text_part(text: str, *, subtype: str, charset: str) -> Part:
    """Build a text part, its line ends in the canonical form."""
    return _typed_text(f"text/{subtype}", {}, text, charset=charset, name="body")


def make_seven_bit(part: Part) -> None:
    """Put a part that somebody else built into 7 bits, in place. What is so already is kept."""
    if part.get_content_type() == "multipart/signed" and _all_clean(part):
        return  # re-encoding would break the signature, RFC 1847 §2.1
    payload = part.get_payload()
    if part.get_content_maintype() == "message":
        _make_nested_seven_bit(part)
    elif isinstance(payload, list):
        _renew_boundary(part)
        for child in _children(part):
            make_seven_bit(child)
    elif not _is_clean(part):
        _encode_leaf(part)


def _bodies(message: EmailMessage, *, charset: str) -> Part | None:
    alternatives = getattr(message, "alternatives", [])
    body = None
    if message.body or not (alternatives or message.attachments):
        text = _text(message.body or "", charset=charset)
        body = text_part(text, subtype=str(message.content_subtype), charset=charset)
    if not alternatives:
        return body
    others = [_alternative(*alternative, charset=charset) for alternative in alternatives]
    first = [] if body is None else [body]
    return _multipart(getattr(message, "alternative_subtype", "alternative"), [*first, *others])


def _alternative(content: Any, mimetype: str, *, charset: str) -> Part:
    main, parameters = _media_type(str(mimetype))
    if main.lower().startswith("text/"):
        text = _text(content, charset=parameters.get("charset", charset))
        return _typed_text(main, parameters, text, charset=charset, name="alternative")
    return _binary(main, parameters, content, charset=charset)


def _attachment(item: Any, *, charset: str) -> Part:
    if isinstance(item, Part):
        return _foreign(item)
    filename, content, mimetype = (*item, None)[:3]
    name = "" if filename is None else str(filename)
    check_characters(name, header="attachment name")
    guessed = mimetype or mimetypes.guess_type(name)[0] or BINARY
    main, parameters = _media_type(str(guessed))
    if main.lower().startswith("text/") and not _is_text(content):
        main, parameters = BINARY, {}
    part = _binary(main, parameters, content, charset=charset)
    found = {"filename": name} if name else {}
    part["Content-Disposition"] = parameterised("attachment", found)
    return part


def _foreign(item: Part) -> Part:
    part = copy.deepcopy(item)
    for inner in part.walk():
        for name, value in inner.raw_items():
            headers.check_name(name)
            if isinstance(item, MIMEBase):  # never parsed, so a fold in it is no one's but a trick
                check_characters(str(value), header=name)
        if inner.get_content_maintype() == "message":
            break
    make_seven_bit(part)
    return part


def _binary(main: str, parameters: dict[str, str], content: Any, *, charset: str) -> Part:
    kind = main.lower()
    if kind == "message/rfc822":
        return _message_part(content)
    if kind.startswith("multipart/"):
        main, parameters = BINARY, {}  # parts in parts that nobody could tell apart
    data, used = _data(content, charset=parameters.get("charset", charset))
    if kind.startswith("text/"):
        parameters = {**parameters, "charset": used}
    part = Part()
    part["Content-Type"] = parameterised(main, parameters)
    if kind.startswith("message/"):
        return _report(part, data)
    return _filled(part, encoding="base64", payload=base64.encodebytes(data).decode("ascii"))


def _typed_text(
    main: str, parameters: dict[str, str], text: str, *, charset: str, name: str
) -> Part:
    used = parameters.get("charset", charset)
    data = _encoded(re.sub(r"\r\n|\n", "\r\n", text), charset=used, name=name)
    part = Part()
    part["Content-Type"] = parameterised(_checked(main), {**parameters, "charset": used})
    encoding, payload = _encode_text(data, plain="\r\n".encode(used) == b"\r\n")
    return _filled(part, encoding=encoding, payload=payload)


def _encode_text(data: bytes, *, plain: bool) -> tuple[str, str]:
    encoded = base64.encodebytes(data)
    unix = data.replace(b"\r\n", b"\n")
    if plain and b"\r" not in unix:  # a lone CR survives in base64 only
        quoted = binascii.b2a_qp(unix, istext=True)
        if len(quoted) <= len(encoded) or data.isascii():
            return "quoted-printable", quoted.decode("ascii")
    return "base64", encoded.decode("ascii")


def _filled(part: Part, *, encoding: str, payload: str) -> Part:
    del part[ENCODING]
    part.set_raw(ENCODING, encoding)
    part.set_payload(payload)
    return part


def _children(part: Part) -> list[Part]:
    return [child for child in part.get_payload() if isinstance(child, Part)]


def _multipart(subtype: str, children: list[Part]) -> Part:
    part = Part()
    part["Content-Type"] = parameterised(_checked(f"multipart/{subtype}"), {})
    part.set_payload([*children])
    _renew_boundary(part)
    return part


def _renew_boundary(part: Part) -> None:
    main, parameters = headers.parameters(part.get("Content-Type", "multipart/mixed"))
    # "=_" can stand neither in quoted-printable nor in base64
    parameters["boundary"] = f"=_{secrets.token_hex(16)}"
    del part["Content-Type"], part[ENCODING]
    part.set_raw("Content-Type", parameterised(main, parameters))
    part.preamble = part.epilogue = None


def _message_part(content: Any) -> Part:
    part = Part()
    part["Content-Type"] = "message/rfc822"
    part.set_payload([_nested(content)])
    _make_nested_seven_bit(part)
    return part


def _report(part: Part, data: bytes) -> Part:
    """Fill a part of a type message/… other than a message: 7bit if it can be, RFC 2046 §5.2."""
    if not _is_clean_text(data):
        encoded = base64.encodebytes(data).decode("ascii")
        return _filled(part, encoding="base64", payload=encoded.replace("\n", "\r\n"))
    if part.get_content_type() == "message/delivery-status":  # the generator wants its blocks
        parsed = email.message_from_bytes(b"Content-Type: message/delivery-status\n\n" + data)
        part.set_payload(parsed.get_payload())
        return part
    text = re.sub(r"\r\n|\n", "\r\n", data.decode("ascii"))
    return _filled(part, encoding="7bit", payload=text)


def _nested(content: Any) -> Part:
    if isinstance(content, EmailMessage):
        return content.message()
    if isinstance(content, Part):
        return copy.deepcopy(content)
    data, _ = _data(content, charset="utf-8")
    return email.message_from_bytes(data)


def _make_nested_seven_bit(part: Part) -> None:
    payload = part.get_payload()
    if part.get_content_type() != "message/rfc822":
        if not isinstance(payload, list):
            _report(part, _decoded(part))
        return
    if not isinstance(payload, list):  # base64 is not allowed here, RFC 2046 §5.2.1
        part.set_payload([email.message_from_bytes(_decoded(part))])
    del part[ENCODING]
    for inner in _children(part):
        make_seven_bit(inner)
        for each in inner.walk():
            _tame_headers(each)


def _tame_headers(part: Part) -> None:
    """Write a header of a foreign message as mere text where it does not have its proper form."""
    found = list(part.raw_items())
    for name in {name for name, _ in found}:
        del part[name]
    for name, value in found:
        part.set_raw(name, _tamed(name, value))


def _tamed(name: str, value: Any) -> Any:
    try:
        headers.fold_header(name, value)
    except InvalidHeaderName:
        raise
    except RefusedMessage:
        text = str(value).encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return headers.Opaque(re.sub(r"[\r\n\0]+\s*", " ", text))
    return value


def _encode_leaf(part: Part) -> None:
    data = _decoded(part)
    if part.get_content_maintype() == "text" and not part.get_filename():
        plain = b"\0" not in data  # not so in UTF-16, whose line ends are not these bytes
        canonical = re.sub(rb"\r\n|\n", b"\r\n", data) if plain else data
        encoding, payload = _encode_text(canonical, plain=plain)
    else:
        encoding, payload = "base64", base64.encodebytes(data).decode("ascii")
    if part.get_content_maintype() == "multipart":
        del part["Content-Type"]
        part.set_raw("Content-Type", BINARY)
    _filled(part, encoding=encoding, payload=payload)


def _decoded(part: Part) -> bytes:
    payload = part.get_payload()
    if isinstance(payload, bytes):
        return payload
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _is_clean(part: Part) -> bool:
    payload = part.get_payload()
    kept = str(part.get(ENCODING, "7bit")).strip().lower() in KEPT_ENCODINGS
    multipart = part.get_content_maintype() == "multipart"
    return (
        kept
        and not multipart
        and isinstance(payload, str)
        and payload.isascii()
        and _is_clean_text(payload.encode("ascii"))
    )


def _is_clean_text(data: bytes) -> bool:
    lines = data.replace(b"\r\n", b"\n").split(b"\n")
    return (
        data.isascii()
        and b"\0" not in data
        and not any(b"\r" in line or len(line) > headers.LONGEST_LINE for line in lines)
    )


def _all_clean(part: Part) -> bool:
    return all(inner.is_multipart() or _is_clean(inner) for inner in part.walk())


def _media_type(value: str) -> tuple[str, dict[str, str]]:
    check_characters(value, header="media type")
    main, parameters = headers.parameters(value)
    if not MEDIA_TYPE.fullmatch(main) or not all(map(headers.TOKEN_VALUE.fullmatch, parameters)):
        raise InvalidMediaType(value)
    return main, parameters


def _checked(main: str) -> str:
    if not MEDIA_TYPE.fullmatch(main):
        raise InvalidMediaType(main)
    return main


def parameterised(main: str, parameters: dict[str, str]) -> str:
    """Write a header value with parameters so that each of them can be read back."""
    return "; ".join([main, *(_written(*item) for item in parameters.items())])


def _written(name: str, value: str) -> str:
    if headers.TOKEN_VALUE.fullmatch(value):
        return f"{name}={value}"
    if headers.PLAIN_PARAMETER.fullmatch(value):
        return f'{name}="{value}"'
    return f"{name}*=utf-8''{urllib.parse.quote(value, safe='')}"


def _is_text(content: Any) -> bool:
    if not isinstance(content, bytes | bytearray | memoryview):
        return True
    try:
        bytes(content).decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _text(content: Any, *, charset: str) -> str:
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content).decode(charset)
    if isinstance(content, str | Promise):
        return str(content)
    raise TypeError(f"the text of a message is str or bytes, not {type(content).__name__}")


def _data(content: Any, *, charset: str) -> tuple[bytes, str]:
    if isinstance(content, bytes | bytearray | memoryview):
        return bytes(content), "utf-8"
    text = _text(content, charset=charset)
    try:
        return text.encode(charset), charset
    except (UnicodeEncodeError, LookupError):
        return _encoded(text, charset="utf-8", name="attachment"), "utf-8"


def _encoded(text: str, *, charset: str, name: str) -> bytes:
    try:
        return text.encode(charset)
    except (UnicodeEncodeError, LookupError) as error:
        raise UnencodableText(name, charset=charset, reason=str(error)) from error
