"""Questions of a nested supervisor: the outermost one asks, tells, decides and records them, each once.

Inside stands only what was asked, by the ids that are used there, so that work goes on in place when the answer comes
(`Steering.follow`). A process that dies after a question was asked outside, and before anybody inside knows, has it
asked again under the same id: outside it is known, and nothing is doubled.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from langgraph.store.base import PutOp

from nodes.runtime.context import RunContext
from nodes.runtime.nesting import Decide, Nesting, Waiting
from nodes.runtime.questions import Questions
from state.approval import Approval, Decision


class InnerQuestions(Questions):
    """The questions of one nested run."""

    def __init__(self, run: RunContext, outer: Nesting) -> None:
        super().__init__(run)
        self._outer = outer

    def deadline(self, approval_id: str) -> float:
        """When the outermost policy decides a question."""
        return self._outer.questions.deadline(f"{self._outer.asks}{approval_id}")

    async def ask(self, approval: Approval) -> Approval:
        """Ask outside, unless it was asked before; returns the question with its deadline."""
        outside = await self._outer.questions.ask(self._outer.outward(approval))
        times = {"asked_at": outside.asked_at, "expires_at": outside.expires_at, "escalated": outside.escalated}
        return await self._keep(approval.model_copy(update=times))

    async def note(self, approval: Approval) -> None:
        """Put on record outside, once, that something is done which needs no answer."""
        await self._outer.questions.note(self._outer.outward(approval))
        await self._keep(approval)

    async def answer(self, approval: Approval, decision: Decision, decide: Decide, also: Sequence[PutOp] = ()) -> None:
        """Keep a decision that was made inside, outside."""
        outside = self._outer.outward(approval)
        await self._outer.questions.answer(outside, decision, lambda _, said: decide(approval.id, said), also)

    async def expire(self, waiting: Sequence[Approval], decide: Decide) -> dict[str, Decision]:  # noqa: ARG002 - above
        """Nothing: the outermost run decides what is late, after the answers that came in time."""
        return {}

    async def announced(self, waiting: Sequence[Approval] = ()) -> None:
        """Nothing to wait for: the outermost run tells people."""

    @contextmanager
    def heard(self, waiting: Waiting) -> Iterator[None]:
        """While inside, the outer run knows what is waited for, and decides it when its time is up."""
        above, outer = self._outer.questions.below, self._outer
        above[outer.asks] = lambda: [outer.outward(question) for question in waiting()]
        try:
            yield
        finally:
            above.pop(outer.asks, None)

    async def _keep(self, approval: Approval) -> Approval:
        if self._known.get(approval.id) != approval:
            self._known[approval.id] = approval
            await self._run.store.abatch([self._row(approval)])
        return approval


def questions_for(run: RunContext) -> Questions:
    """The questions of a run: its own, or those of a nested one."""
    return InnerQuestions(run, run.outer) if run.outer else Questions(run)
