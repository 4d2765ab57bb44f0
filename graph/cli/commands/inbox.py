"""`baton inbox`: what waits for a human."""

from graph.cli.looking import look
from graph.cli.options import AsJson, Db, MaybeThread
from graph.cli.screen import action_of, command, one_line, out, put_json, say, seconds, table
from graph.supervisor import Supervisor
from nodes.policy.asked import urgency
from state.approval import Approval


def inbox(thread: MaybeThread = None, db: Db = None, as_json: AsJson = False) -> int:
    """List open questions, most urgent first."""

    async def asked(sup: Supervisor) -> tuple[list[tuple[str, Approval]], float]:
        runs = [await sup.view(thread)] if thread is not None else await sup.runs(only_open=True)
        pairs = [(run.thread_id, question) for run in runs for question in run.approvals]
        return pairs, sup.services.clock.now()

    found, now = look(db, asked)
    found.sort(key=lambda pair: urgency(pair[1]))
    if as_json:
        put_json([{"thread_id": where, **question.model_dump(mode="json")} for where, question in found])
        return 0
    if not found:
        say("nothing waits for you")
        return 0
    listed = table("priority", "risk", "action", "agent", "why", "decided in", "answer with")
    for where, question in found:
        how = command("answer", where, question.id, "approve", db=db)
        left = seconds(question.expires_at - now) if question.expires_at is not None else ""
        why = one_line(question.reason, 200)
        listed.add_row(question.priority, question.risk, action_of(question), question.agent, why, left, how)
    out().print(listed)
    return 0
