"""Mail: one message (eml) or many (mbox), by Python's own `email`. What is attached is named, not read."""

import email
import email.policy
import re
from collections.abc import Sequence
from email.message import EmailMessage

from nodes.tools.document import Document, Listing
from nodes.tools.passages import Heading
from nodes.tools.readers.decoding import Unreadable, storable
from nodes.tools.readers.plain import unit_document
from nodes.tools.readers.webpage import read_html

HEADERS = ("From", "To", "Cc", "Date", "Subject")
START = re.compile(rb"^From [^\n]*\n", re.MULTILINE)
"""The line before each message of an mbox; `>From` in a message is one that was escaped."""
BETWEEN = (b"\n\n", b"\n\r\n")
"""What stands before that line, but for the first."""
MESSAGES = 20_000


def read_message(file: str, data: bytes) -> Document:
    """One message.

    Raises:
        Unreadable: it is no message, or there is nothing in it.
    """
    return _document(file, [data])


def read_mailbox(file: str, data: bytes) -> Document:
    """The messages of an mbox file.

    Raises:
        Unreadable: it is none, or there is nothing in it.
    """
    if not data.startswith(b"From "):
        raise Unreadable("it does not begin as an mbox file does; export it again")
    starts = [match for match in START.finditer(data) if data[: match.start()].endswith(BETWEEN) or not match.start()]
    if not starts:
        raise Unreadable("there is nothing in it but the first line of an mbox file; export it again")
    if len(starts) > MESSAGES:
        raise Unreadable(f"it has {len(starts)} messages, more than {MESSAGES}; split it")
    ends = [*(match.start() for match in starts[1:]), len(data)]
    return _document(file, [data[match.end() : end] for match, end in zip(starts, ends, strict=True)])


def _document(file: str, messages: list[bytes]) -> Document:
    read = [email.message_from_bytes(one, policy=email.policy.default) for one in messages]
    if not any(message.keys() for message in read):
        raise Unreadable("it has no header as a message has; export it again")
    subjects = enumerate((_header(message, "Subject") for message in read), 1)
    titles = {number: Heading(1, subject) for number, subject in subjects if subject}
    bodies = [_body(message) for message in read]
    texts = [_text(message, body) for message, (body, _) in zip(read, bodies, strict=True)]
    tables = {number: inner for number, (_, inner) in enumerate(bodies, 1) if inner is not None}
    return unit_document(file, "mail", "m", texts, titles, tables)


def _text(message: EmailMessage, body: str) -> str:
    heads = [f"{name}: {value}" for name in HEADERS if (value := _header(message, name))]
    attached = [storable(part.get_filename() or part.get_content_type()) for part in message.iter_attachments()]
    named = [f"Attached, not read: {', '.join(attached)}"] if attached else []
    return "\n".join([*heads, "", body, *named])


def _header(message: EmailMessage, name: str) -> str:
    try:
        return storable(" ".join(str(message[name] or "").split()))
    except (ValueError, LookupError, TypeError, AttributeError):  # a header that its parser gives up on
        return ""


def _body(message: EmailMessage) -> tuple[str, Sequence[Listing] | None]:
    """What was written: the plain text, or else the page, with its tables."""
    part = message.get_body(("plain", "html"))
    if part is None:
        return "", None
    try:
        content = part.get_content()
    except (LookupError, ValueError):  # an encoding that nobody knows
        content = bytes(part.get_payload(decode=True) or b"").decode("latin-1")
    text = storable(str(content)).replace("\r\n", "\n")
    if part.get_content_subtype() != "html":
        return text, None
    try:
        page = read_html("", text.encode())
    except Unreadable:
        return "", None
    return "".join(page.units), page.inner
