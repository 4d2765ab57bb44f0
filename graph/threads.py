"""Names of threads."""

from uuid import uuid4

from state.errors import BadInput


def new_thread() -> str:
    """A name for a new thread."""
    return uuid4().hex[:12]


def checked_thread(thread_id: str) -> str:
    """The name of a thread, if it is one.

    Raises:
        BadInput: it is empty or very long, or has characters that cannot be shown.
    """
    if not thread_id.strip() or len(thread_id) > 200 or not thread_id.isprintable():
        raise BadInput(f"{thread_id[:40]!r} cannot name a thread; give 1 to 200 printable characters")
    return thread_id
