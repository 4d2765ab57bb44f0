"""`baton inbox`: what waits for a human."""

from graph.cli.looking import look
from graph.cli.options import AsJson, Db, MaybeThread
from graph.cli.screen import command, one_line, out, put_json, say, table
from graph.supervisor import Supervisor
from state.approval import Approval

URGENCY = ("critical", "high", "medium", "low")


def inbox(thread: MaybeThread = None, db: Db = None, as_json: AsJson = False) -> int:
    """List open questions, most urgent first."""

    async def asked(sup: Supervisor) -> list[tuple[str, Approval]]:
        runs = [await sup.view(thread)] if thread is not None else await sup.runs()
        return [(run.thread_id, question) for run in runs for question in run.approvals]

    found = sorted(look(db, asked), key=lambda pair: URGENCY.index(pair[1].risk))
    if as_json:
        put_json([{"thread_id": where, **question.model_dump(mode="json")} for where, question in found])
        return 0
    if not found:
        say("nothing waits for you")
        return 0
    listed = table("risk", "action", "agent", "why", "answer with")
    for where, question in found:
        how = command("answer", where, question.id, "approve", db=db)
        listed.add_row(question.risk, one_line(question.action), question.agent, one_line(question.reason, 200), how)
    out().print(listed)
    return 0
