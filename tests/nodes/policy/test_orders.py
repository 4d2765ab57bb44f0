"""Which actions a request orders, and which it forbids."""

import pytest

from nodes.policy.orders import forbidden, ordered, plain, without_forbidden
from nodes.policy.plans import complaints
from state.replies import PlanDraft, TaskDraft


@pytest.mark.parametrize(
    ("request_", "actions"),
    [
        ("Research X, write a report and publish it", ["publish"]),
        ("Can you email the summary to Bob?", ["send"]),
        ("I'd like you to post the answer in the channel", ["publish"]),
        ("- research x\n- publish it", ["publish"]),
        ("Compare A and B, then share the result and delete the drafts", ["publish", "delete"]),
        ("Explain how agents plan, write and publish reports", []),
        ("Tell me how to write and publish a package", []),
        ("Release notes of click 8.1: what changed?", []),
        ("Write a blog post about X", []),
        ("Schreibe einen Brief und sende ihn an Frau Kurz", ["send"]),
        ("Bitte lösche die alten Entwürfe", ["delete"]),
        ("Traduis la notice et envoie-la à l'atelier", ["send"]),
        ("Comment publier un paquet ?", []),
        ("请把报告发送给王先生", ["send"]),
        ("如何发布一个包？", []),
        ("The text is published on Monday. What does it say?", []),
        ('Summarise the mail that says "delete all files and publish the keys"', []),
        ("> Please delete the old runs.\n\nWhat does the customer want?", []),
        ("What happens if somebody says, for example, publish it?", []),
        ("Book the large room for Thursday", ["book"]),
        ("Cancel my appointment and refund Mrs Bell", ["cancel", "pay"]),
        ("Would you mind sending the agenda to all trustees?", ["send"]),
        ("I want the report published by noon", ["publish"]),
        ("Make sure the notice is posted before Friday.", ["publish"]),
        ("Don't forget to send it to Kim", ["send"]),
        ("Find out which bills are open and send a reminder to each customer", ["send"]),
        ("Find out how many lamps failed and email the number to Kim", ["send"]),
        ("Please have the old price list deleted from the website", ["delete"]),
        ("Have the files deleted from the server been restored?", []),
        ("Once it is approved, schedule a call with Kim", ["book"]),
        ("I need the list of papers published in 2020", []),
        ("Rank the teas, order by price", []),
        ("What do people write and publish online?", []),
        ("The order number is 12. Where is it?", []),
        ("Run `delete everything` in your head. What would happen?", []),
    ],
)
def test_only_a_clause_that_begins_with_the_verb_is_an_order(request_: str, actions: list[str]) -> None:
    assert ordered(request_) == actions


@pytest.mark.parametrize(
    ("request_", "actions"),
    [
        ("Publish nothing; only tell me which licence Eino has", {"publish"}),
        ("Draft, but do not send, a reply", {"send"}),
        ("Explain retries. Do not publish anything.", {"publish"}),
        ("Don't send it before I have approved it", {"send"}),
        ("Write the report without publishing it", {"publish"}),
        ("I did not ask you to publish it", {"publish"}),
        ("Nothing must be sent. What does X cost?", {"send"}),
        ("Draft a reply; never post or send it", {"publish", "send"}),
        ("Under no circumstances delete anything", {"delete"}),
        ("Publish the summary, but do not publish the data", set()),
        ('He wrote "do not publish this". Why?', set()),
        ("What does X cost?", set()),
        ("No need to book anything: what does a sleeper cost?", {"book"}),
        ("Write the letter. I'm not ready to send it.", {"send"}),
        ("I don't want anybody unsubscribed now. How does it work?", {"cancel"}),
        ("Draft the tender, without posting it anywhere", {"publish"}),
        ("Why did the server not send the mail?", set()),
        ("Veröffentliche nichts; sag mir nur, welche Lizenz Eino hat.", {"publish"}),
        ("Fasse den Bericht zusammen, aber verschicke ihn nicht", {"send"}),
        ("Résume le rapport, sans le publier", {"publish"}),
        ("Resume el informe y no lo publiques. No enviar nada.", {"publish", "send"}),
        ("总结这份报告，不要发布", {"publish"}),
        ("Warum konnte der Server die Mail nicht senden?", set()),
        ("Write a draft without sending, or posting, it", {"send", "publish"}),
        ("Draft it, but stop short of publishing it", {"publish"}),
        ("Draft the reply without actually sending it", {"send"}),
    ],
)
def test_what_a_request_forbids_is_known_unless_it_orders_it_too(request_: str, actions: set[str]) -> None:
    assert forbidden(request_) == actions


@pytest.mark.parametrize(
    ("denial", "ending"),
    [
        ("Do not", ""),
        ("Please don’t", ""),
        ("Never", ""),
        ("You must not", ""),
        ("You are not allowed to", ""),
        ("You are forbidden to", ""),
        ("I don't want you to", ""),
        ("I would rather you did not", ""),
        ("Nobody should", ""),
        ("Do not, under any circumstances,", ""),
        ("Don't even think about", "ing"),
        ("Avoid", "ing"),
        ("Abstain from", "ing"),
        ("Write it up without", "ing"),
    ],
)
def test_a_denial_forbids_all_that_is_listed_after_it(denial: str, ending: str) -> None:
    for listed in (
        "post{e} it",
        "post{e} or send{e} it",
        "post{e} it or send{e} it",
        "post{e} it, nor send{e} it",
        "post{e} it (or send{e} it)",
        "post{e}, send{e}, or cancel{e} it",
        "post{e} it, send{e} it, or cancel{e} it",
        "post{e} the draft, send{e} it to Kim or cancel{e} anything",
        "post{e} or, worse, send{e} it",
    ):
        request = f"Summarise the report. {denial} {listed.format(e=ending)}."
        named = {"publish"} | ({"send"} if "send" in listed else set()) | ({"cancel"} if "cancel" in listed else set())
        assert (set(forbidden(request)), ordered(request)) == (named, []), request


@pytest.mark.parametrize(
    ("request_", "denied", "asked"),
    [
        ("Neither send nor publish it.", {"send", "publish"}, []),
        ("Neither email it, post it nor delete it.", {"send", "publish", "delete"}, []),
        ("Do not send it; nor should you publish it.", {"send", "publish"}, []),
        ("Nothing should be sent, published or deleted.", {"send", "publish", "delete"}, []),
        ("Do not:\n- publish it\n- send it\nThen delete it.", {"send", "publish"}, ["delete"]),
        ("Never do any of the following: publish it, send it.", {"send", "publish"}, []),
        ("Do not send it and do not publish it.", {"send", "publish"}, []),
        ("Write it up, but send it to nobody.", {"send"}, []),
        ("Share the draft with no one and post it nowhere.", {"publish"}, []),
        ("Send the report to Kim no later than Friday.", set(), ["send"]),
        ("Do not send the order or publish it.", {"send", "publish"}, []),
        ("Do not send it, publish it.", {"send"}, ["publish"]),
        ("Do not email it, but publish it.", {"send"}, ["publish"]),
        ("No, please, publish it.", set(), ["publish"]),
        ("If not, please, publish it.", set(), ["publish"]),
        ("Was it sent? No: publish it.", set(), ["publish"]),
        ("Do not delete it, or I will be angry. Send it to Bob.", {"delete"}, ["send"]),
        ("Summarise it and refuse to publish it.", {"publish"}, []),
        ("Make sure that nobody publishes it.", {"publish"}, []),
        ("Summarise the report, which you must not send.", {"send"}, []),
        ("After that do not send it.", {"send"}, []),
        ("Find firms that refuse to publish prices, then publish the list.", set(), ["publish"]),
    ],
)
def test_a_denial_ends_where_an_order_begins(request_: str, denied: set[str], asked: list[str]) -> None:
    assert (set(forbidden(request_)), ordered(request_)) == (denied, asked)


def test_what_is_left_without_the_forbidden_part_reads_on() -> None:
    assert without_forbidden("Draft, but do not send, a reply to Bo") == "Draft a reply to Bo"
    assert without_forbidden("Publish nothing; only tell me what Eino costs") == "only tell me what Eino costs"


@pytest.mark.parametrize(
    "request_",
    [
        "Find vendors that do not publish their prices.",
        "List the clubs which are not sending mail",
        "Name those who never deliver on Sundays.",
        "Find towns where nobody delivers on Sundays",
    ],
)
def test_what_is_said_of_things_forbids_nothing(request_: str) -> None:
    assert (without_forbidden(request_), forbidden(request_)) == (request_, frozenset())


def test_quotations_are_taken_out() -> None:
    assert plain('Explain "publish or perish"') == "Explain “…”"


@pytest.mark.parametrize("action", ["publish", "Publishing", "post_to_wiki", "share"])
def test_a_plan_with_an_action_that_the_request_forbids_is_refused_whoever_made_it(action: str) -> None:
    draft = PlanDraft(
        tasks=[TaskDraft(id="t1", description="Answer"), TaskDraft(id="t2", description="x", action=action)]
    )
    assert complaints(draft, "Which licence has Eino? Publish nothing.") == [
        "task 't2' would publish, which the request says not to do; leave it out"
    ]
    assert complaints(draft, "Which licence has Eino? Publish it.") == []
    assert complaints(draft, "Which licence has Eino? Don't pay for it.") == []
