"""Every delivery of mail is an event, whoever sends it."""

from typing import Any

from state.agent import Brief
from tests.journeys.steered import THREAD, happened, supervisor
from tests.runs import agent, plan


async def test_mail_between_agents_is_told_of_with_what_was_lost() -> None:
    async def writes(brief: Brief, desk: Any) -> str:
        for number in range(150):
            desk.mail("bob", f"finding {number}")
        desk.mail("nobody", "hello?")
        return "written"

    async with supervisor(agent(writes, "ada"), agent(name="bob", role="other")) as sup:
        await sup.start("Q", thread_id=THREAD, plan=plan("a"))
        delivered = await happened(sup, "mail_delivered")

    assert [(e.data["sender"], e.data["to"], e.data["messages"]) for e in delivered] == [("ada", ["bob"], 150)]
    assert delivered[0].data["lost"] == {"bob": 51}
