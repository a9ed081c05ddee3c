"""Addresses: a header's text in, mailboxes out. Nothing is sent to what cannot be read here.

The parser is this package's own, because the standard library's differs from one Python to the
next, and because a refusal has to say what is wrong. Grammar: RFC 5322 §3.4, with the UTF-8 of
RFC 6532 in names and local parts. Of the obsolete grammar it takes dots in a name
(`John Q. Public <…>`).
"""

from __future__ import annotations

import base64
import email.errors
import email.header
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

import idna

from emails.errors import ForbiddenCharacter, InvalidAddress

LONGEST_ADDRESS = 320  # RFC 3696 erratum 1690 names 254; longer ones with VERP tags are in use
LONGEST_QUOTED_NAME = 60  # longer ones are written as encoded-words, which can be folded
WORD_LENGTH = 75  # RFC 2047 §2
PLAIN_TEXT = re.compile(r"[ -~]*")
PLAIN_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?: [A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*")
ATOM = r"[^\x00-\x20\x7f()<>\[\]:;@\\,.\"]+"
TOKEN = re.compile(
    r"(?P<space>[ \t]+)"
    r'|(?P<quoted>"(?:[^"\\]|\\.)*")'
    r"|(?P<literal>\[[^\[\]\\]*\])"
    rf"|(?P<atom>{ATOM})"
    r"|(?P<special>.)",
    re.DOTALL,
)
NAME_SPECIALS = frozenset(".@")  # what people write in an unquoted name, beside atoms
LABEL = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
LITERAL = re.compile(r"\[[!-Z^-~]+\]")
ENCODED_WORD = re.compile(r"=\?[!->@-~]+\?[bBqQ]\?[!->@-~]*\?=")
EMPTY_GROUP = re.compile(r"[A-Za-z0-9 _'-]+:\s*;")
DOT_ATOM = re.compile(rf"{ATOM}(?:\.{ATOM})*")


@dataclass(frozen=True, kw_only=True)
class Mailbox:
    """One address with the name shown beside it."""

    display: str = ""  # decoded
    local: str  # as it stands on the wire, with its quotes if it needs them
    domain: str  # ASCII: IDNA done, or a literal such as [127.0.0.1]

    @property
    def envelope(self) -> str:
        """The address for MAIL and RCPT."""
        return f"{self.local}@{self.domain}"

    @property
    def needs_smtputf8(self) -> bool:
        """Whether only a server with SMTPUTF8 (RFC 6531) can take it."""
        return not self.local.isascii()

    @property
    def normalised(self) -> str:
        """The form under which an address is suppressed: lower case, ASCII domain, NFC."""
        return suppression_key(self.envelope)

    @property
    def readable(self) -> str:
        """The mailbox for an operator's eyes, decoded."""
        return f"{self.display} <{self.envelope}>" if self.display else self.envelope

    @property
    def header_form(self) -> str:
        """The mailbox in 7-bit ASCII on one line, as a header holds it before folding."""
        return " ".join(self.header_tokens)

    @property
    def header_tokens(self) -> list[str]:
        """The pieces of `header_form` between which a header may be folded.

        No header can hold a non-ASCII local part in 7 bits; it is written as the empty group of
        RFC 6857 §3.2.1, whose name is the address.
        """
        if self.needs_smtputf8:
            name = f"{self.display} {self.envelope}".strip()
            return [*encode_words(name), ":;"]
        if not self.display:
            return [self.envelope]
        return [*_name_tokens(self.display), f"<{self.envelope}>"]


def parse_mailbox(text: str, *, header: str = "To") -> Mailbox:
    """Read exactly one mailbox; `header` names it in the error.

    Raises InvalidAddress or ForbiddenCharacter, both ValueErrors.
    """
    check_characters(text, header=header)
    tokens = list(_tokens(text, header=header))
    if any(token == ("special", ",") for token in tokens):
        raise InvalidAddress(header, text, problem=_comma_problem(tokens))
    return _mailbox(tokens, header=header, text=text)


def parse_mailboxes(text: str, *, header: str) -> list[Mailbox]:
    """Read a comma-separated list of mailboxes, as a To or Reply-To header holds it.

    The empty group `undisclosed-recipients:;` is the one group allowed, and holds no mailbox.
    """
    check_characters(text, header=header)
    if is_empty_group(text):
        return []
    groups: list[list[tuple[str, str]]] = [[]]
    for token in _tokens(text, header=header):
        if token == ("special", ","):
            groups.append([])
        else:
            groups[-1].append(token)
    return [_mailbox(tokens, header=header, text=text) for tokens in groups]


def is_empty_group(text: str) -> bool:
    """Whether the text is a group without members, as in `undisclosed-recipients:;`."""
    return EMPTY_GROUP.fullmatch(text.strip()) is not None


def normalise(address: str) -> str:
    """Return the form under which an address is suppressed. Raises InvalidAddress."""
    return parse_mailbox(address, header="address").normalised


def suppression_key(envelope: str) -> str:
    """Return the suppressed form of an address as it stands in an envelope."""
    return unicodedata.normalize("NFC", envelope).lower()


def check_characters(value: str, *, header: str) -> None:
    """Refuse what may stand in no header: CR, LF, NUL and lone surrogates."""
    for character, found in (("\r", "a CR"), ("\n", "an LF"), ("\0", "a NUL")):
        if character in value:
            raise ForbiddenCharacter(header, value, found=found)
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise ForbiddenCharacter(header, value, found="a lone surrogate")


def decode_words(text: str) -> str:
    """Decode the encoded-words of RFC 2047 in a text; what is not valid stays as it is."""
    if not ENCODED_WORD.search(text):
        return text
    joined = re.sub(rf"({ENCODED_WORD.pattern})[ \t]+(?={ENCODED_WORD.pattern})", r"\1", text)
    return re.sub(rf"(?:{ENCODED_WORD.pattern})+", lambda run: _decoded(run.group()), joined)


def encode_words(text: str, *, first_room: int = WORD_LENGTH) -> list[str]:
    """Write a text as encoded-words (RFC 2047) of at most 75 characters, in ASCII.

    No character is divided between two words. `first_room` is what the first may take at most.
    """
    quoted = sum(len(_quoted(character)) for character in text)
    form = "q" if quoted <= (len(text.encode()) + 2) // 3 * 4 else "b"
    words: list[str] = []
    chunk = ""
    for character in text:
        room = WORD_LENGTH if words else first_room
        if chunk and len(_word(chunk + character, form=form)) > room:
            words.append(_word(chunk, form=form))
            chunk = ""
        chunk += character
    return [*words, _word(chunk, form=form)]


def _word(text: str, *, form: str) -> str:
    if form == "b":
        return f"=?utf-8?b?{base64.b64encode(text.encode()).decode()}?="
    return f"=?utf-8?q?{''.join(map(_quoted, text))}?="


def _quoted(character: str) -> str:
    if character == " ":
        return "_"
    if character.isascii() and (character.isalnum() or character in "!*+-/"):
        return character  # what RFC 2047 §5 (3) allows in a name, too
    return "".join(f"={byte:02X}" for byte in character.encode())


def _name_tokens(name: str) -> list[str]:
    if not PLAIN_TEXT.fullmatch(name) or "=?" in name or len(name) > LONGEST_QUOTED_NAME:
        return encode_words(name)
    if PLAIN_NAME.fullmatch(name):
        return name.split(" ")
    escaped = re.sub(r'(["\\])', r"\\\1", name)
    return [f'"{escaped}"']


def _decoded(run: str) -> str:
    words = " ".join(ENCODED_WORD.findall(run))
    try:
        return str(email.header.make_header(email.header.decode_header(words)))
    except (email.errors.HeaderParseError, LookupError, UnicodeError, ValueError):
        return run


def _tokens(text: str, *, header: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text):
        if text[position] == "(":
            end = _end_of_comment(text, position)
            if end is None:
                raise InvalidAddress(header, text, problem="a comment is not closed")
            yield ("comment", text[position + 1 : end - 1])
            position = end
            continue
        match = TOKEN.match(text, position)
        assert match is not None and match.lastgroup is not None  # noqa: PT018
        yield (match.lastgroup, match.group())
        position = match.end()


def _end_of_comment(text: str, start: int) -> int | None:
    depth, position = 0, start
    while position < len(text):
        match text[position]:
            case "\\":
                position += 1
            case "(":
                depth += 1
            case ")":
                depth -= 1
                if depth == 0:
                    return position + 1
        position += 1
    return None


def _mailbox(tokens: list[tuple[str, str]], *, header: str, text: str) -> Mailbox:
    _check_shape(tokens, header=header, text=text)
    opening = tokens.index(("special", "<")) if ("special", "<") in tokens else None
    if opening is None:
        comments = [value for kind, value in tokens if kind == "comment"]
        display, address = " ".join(comments), [t for t in tokens if t[0] != "comment"]
    else:
        display, address = _display(tokens[:opening]), tokens[opening + 1 : -1]
    local, domain = _split(address, header=header, text=text)
    mailbox = Mailbox(display=decode_words(display).strip(), local=local, domain=domain)
    check_characters(mailbox.display, header=header)
    if len(mailbox.envelope.encode()) > LONGEST_ADDRESS:
        raise InvalidAddress(header, text, problem=f"it is longer than {LONGEST_ADDRESS} bytes")
    return mailbox


def _check_shape(tokens: list[tuple[str, str]], *, header: str, text: str) -> None:
    while tokens and tokens[-1][0] == "space":
        tokens.pop()
    while tokens and tokens[0][0] == "space":
        tokens.pop(0)
    specials = [value for kind, value in tokens if kind == "special"]
    problem = None
    if not tokens:
        problem = "it is empty"
    elif specials[:1] in ([":"], [";"]):
        problem = "groups are not allowed, name each recipient"
    elif specials.count("<") > 1 or specials.count("<") != specials.count(">"):
        problem = "< and > do not match"
    elif "<" in specials and tokens[-1] != ("special", ">"):
        problem = "text follows the address"
    elif "<" in specials and not NAME_SPECIALS.issuperset(specials[: specials.index("<")]):
        problem = "a name with special characters must be in quotes"
    if problem is not None:
        raise InvalidAddress(header, text, problem=problem)


def _display(tokens: list[tuple[str, str]]) -> str:
    shown = []
    for kind, value in tokens:
        match kind:
            case "quoted":
                shown.append(re.sub(r"\\(.)", r"\1", value[1:-1], flags=re.DOTALL))
            case "comment":
                shown.append(f"({value})")
            case _:
                shown.append(value)
    return re.sub(r"[ \t]+", " ", "".join(shown)) if len(tokens) > 1 else "".join(shown)


def _split(tokens: list[tuple[str, str]], *, header: str, text: str) -> tuple[str, str]:
    stripped = [token for token in tokens if token[0] not in {"space", "comment"}]
    if len(stripped) != len(_trim(tokens)):
        raise InvalidAddress(header, text, problem="there is a space inside the address")
    try:
        at = stripped.index(("special", "@"))
    except ValueError:
        raise InvalidAddress(header, text, problem="there is no @") from None
    local = "".join(value for _, value in stripped[:at])
    return _local(local, header=header, text=text), _domain(
        stripped[at + 1 :], header=header, text=text
    )


def _trim(tokens: list[tuple[str, str]]) -> list[tuple[str, str]]:
    trimmed = [token for token in tokens if token[0] != "comment"]
    while trimmed and trimmed[-1][0] == "space":
        trimmed.pop()
    while trimmed and trimmed[0][0] == "space":
        trimmed.pop(0)
    return trimmed


def _local(local: str, *, header: str, text: str) -> str:
    quoted = re.fullmatch(r'"(?:[^"\\\x00-\x1f\x7f]|\\[ -~])*"', local)
    if not quoted and not DOT_ATOM.fullmatch(local):
        raise InvalidAddress(header, text, problem="the part before the @ is malformed")
    if ENCODED_WORD.search(local):
        raise InvalidAddress(header, text, problem="the part before the @ is an encoded-word")
    return local


def _domain(tokens: list[tuple[str, str]], *, header: str, text: str) -> str:
    domain = "".join(value for _, value in tokens)
    if [kind for kind, _ in tokens] == ["literal"] and LITERAL.fullmatch(domain):
        return domain
    try:
        encoded = domain if domain.isascii() else idna.encode(domain, uts46=True).decode("ascii")
    except (idna.IDNAError, UnicodeError) as error:
        raise InvalidAddress(header, text, problem=f"its domain is not valid ({error})") from error
    if not all(LABEL.fullmatch(label) for label in encoded.split(".")):
        raise InvalidAddress(header, text, problem="its domain is malformed")
    return encoded


def _comma_problem(tokens: list[tuple[str, str]]) -> str:
    if [value for kind, value in tokens if kind == "special"].count("@") > 1:
        return "it holds several addresses, pass each as an entry of its own"
    return "a comma in the name must be in quotes"
