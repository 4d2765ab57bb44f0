"""Where things stand in the Store: every namespace Baton uses, in one place.

LangGraph's Store refuses a period in a namespace and sorts a search by time of change, not by key: hence the quoting,
and `read_all`, which reads everything below one namespace in the order of its keys.
"""

from collections.abc import Sequence
from typing import cast

from langgraph.store.base import BaseStore, Item, SearchOp

Namespace = tuple[str, ...]
MOST = 1_000_000
"""Rows a namespace is read up to."""


def space(kind: str, thread_id: str) -> Namespace:
    """The namespace for rows of one kind (`events`, `board`, `outcomes` …) of one thread."""
    return (kind, thread_id.replace("%", "%25").replace(".", "%2E") or "%")


async def read_all(store: BaseStore, namespace: Namespace) -> list[Item]:
    """Every row directly in a namespace, in the order of its keys."""
    return (await read_each(store, [namespace]))[0]


async def read_each(store: BaseStore, namespaces: Sequence[Namespace]) -> list[list[Item]]:
    """Every row directly in each namespace, in the order of its keys; all in one transaction."""
    pages = await store.abatch([SearchOp(namespace, limit=MOST) for namespace in namespaces])
    return [
        sorted((item for item in cast(list[Item], page) if tuple(item.namespace) == namespace), key=lambda i: i.key)
        for namespace, page in zip(namespaces, pages, strict=True)
    ]
