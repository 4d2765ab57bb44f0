"""What an agent may do while it works, besides its own work."""

from pydantic import JsonValue

from nodes.runtime.context import RunContext
from state.approval import Approval, Decision, Risk
from state.brief import Brief


class Parked(BaseException):
    """Raised by `desk.ask` while the answer is not there; the agent's work ends here and starts again with it."""

    def __init__(self, approval: Approval) -> None:
        super().__init__(approval.id)
        self.approval = approval


class Desk:
    """One agent's desk for one task."""

    def __init__(self, run: RunContext, agent: str, brief: Brief, decisions: dict[str, Decision]) -> None:
        self._run = run
        self._agent = agent
        self._brief = brief
        self._decisions = decisions
        self._asked = 0

    async def ask(self, action: str, args: dict[str, JsonValue] | None = None, risk: Risk = "medium") -> Decision:
        """Ask a human whether to do `action`. Parks; when answered, the function runs again and this call returns.

        Questions are told apart by their order: ask the same ones in the same order each time.
        """
        self._asked += 1
        task = self._brief.task
        approval_id = f"{task.id}.{self._brief.iteration}.q{self._asked}"
        if approval_id in self._decisions:
            return self._decisions[approval_id]
        raise Parked(
            Approval(
                id=approval_id,
                task_id=task.id,
                agent=self._agent,
                action=action,
                args=args or {},
                risk=risk,
                reason=f"{self._agent} asks before it does this",
                description=f"**{self._agent}** asks about `{action}` for task `{task.id}`: {task.description}",
            )
        )
