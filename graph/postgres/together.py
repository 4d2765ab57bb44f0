"""One visit to the server for what several ask at one moment: it is the visit that costs, not the question."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Generic, TypeVar

from graph.postgres.session import Server, Session

Asked = TypeVar("Asked")
Told = TypeVar("Told")
Answer = Callable[[list[Asked]], Coroutine[Any, Any, list[Told]]]
Waiting = list[tuple[Asked, asyncio.Future[Told]]]


class Together(Generic[Asked, Told]):
    """Questions of one kind, which `answer` answers all at once, in their order; it only reads."""

    def __init__(self, server: Server, answer: Answer[Asked, Told]) -> None:
        self._server = server
        self._answers = answer
        self._asked: dict[Session | None, Waiting[Asked, Told]] = {}
        """What is to be asked in a moment, by the session that the work is done on."""
        self._visits: set[asyncio.Task[list[Told]]] = set()

    async def ask(self, asked: Asked) -> Told:
        """The answer.

        Raises:
            LeaseLost: the work's lease is another's.
        """
        session, loop = self._server.session(), asyncio.get_running_loop()
        told: asyncio.Future[Told] = loop.create_future()
        if session not in self._asked:
            self._asked[session] = []
            loop.call_soon(self._begin, session)
        self._asked[session].append((asked, told))
        return await told

    def _begin(self, session: Session | None) -> None:
        self._visit(self._asked.pop(session))

    def _visit(self, waiting: Waiting[Asked, Told]) -> None:
        visit = asyncio.create_task(self._answers([asked for asked, _ in waiting]))  # noqa: RUF006 - in `_visits`
        self._visits.add(visit)
        visit.add_done_callback(partial(self._tell, waiting))

    def _tell(self, waiting: Waiting[Asked, Told], visit: asyncio.Task[list[Told]]) -> None:
        """Give everybody his answer. Where it failed, ask each by itself: nobody fails for another's sake."""
        self._visits.discard(visit)
        error = None if visit.cancelled() else visit.exception()
        if error and len(waiting) > 1:
            for one in waiting:
                self._visit([one])
            return
        for n, (_, told) in enumerate(waiting):
            if told.done():  # whoever asked is gone
                continue
            if visit.cancelled():
                told.cancel()
            elif error:
                told.set_exception(error)
            else:
                told.set_result(visit.result()[n])
