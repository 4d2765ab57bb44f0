"""Where things stand in the Store: every namespace Baton uses, in one place.

LangGraph's Store refuses a period in a namespace and sorts a search by time of change, not by key: hence the quoting,
and `read_all`, which reads everything below one namespace in the order of its keys.
"""

from langgraph.store.base import BaseStore, Item

Namespace = tuple[str, ...]
MOST = 1_000_000
"""Rows a namespace is read up to."""


def space(kind: str, thread_id: str) -> Namespace:
    """The namespace for rows of one kind (`events`, `board`, `outcomes` …) of one thread."""
    return (kind, thread_id.replace("%", "%25").replace(".", "%2E") or "%")


async def read_all(store: BaseStore, namespace: Namespace) -> list[Item]:
    """Every row directly in a namespace, in the order of its keys."""
    found = await store.asearch(namespace, limit=MOST)
    return sorted((item for item in found if tuple(item.namespace) == namespace), key=lambda item: item.key)
