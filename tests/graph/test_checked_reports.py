"""What stands in a report was looked up, whoever wrote it: an agent or the editor. Whole runs on real files."""

from pathlib import Path

import pytest

from nodes.llm.scripted import ScriptedModel
from state.agent import AgentSpec
from state.replies import Review, Verdict
from tests.runs import Turns, agent, opened, plan

EDITOR = "You put the findings of a team together"
REVIEWER = "You review the results"
GUIDE = (
    "# Guide\r\n\r\nIt resumes after a\r\ncrash and keeps every step. Margins were -5 %.\r\nA seat is 12 dollars.\r\n"
)

REVIEW = Review(verdicts=[Verdict(task_id="a"), Verdict(task_id="b")])


async def report_of(tmp_path: Path, answer: str, editor: str | None = None) -> str:
    """The report on one task, or on two that an editor puts together."""
    folder = tmp_path / "docs"
    folder.mkdir(exist_ok=True)
    (folder / "guide.md").write_bytes(GUIDE.encode())
    (folder / "page.html").write_text("<h1>Book</h1>\n<h2>Size</h2>\n<p>It holds 2<sup>20</sup> rows.</p>\n")
    model = ScriptedModel({EDITOR: editor or "none", REVIEWER: REVIEW, '<task id="a"': answer, '<task id="b"': "B."})
    async with opened(AgentSpec(name="ada", role="generalist"), model=model, db=tmp_path / "runs.db") as sup:
        tasks = plan("a") if editor is None else plan("a", "b")
        run = await sup.start('Is it "free for all of us in here"?', sources=[str(folder)], plan=tasks)
    assert run.status == "complete", run.error
    return run.report or ""


CASES = {
    "true": ('It "resumes after a crash" [guide.md#L3-L4].', '"resumes after a crash" [1].'),
    "hallucinated": ('It "flies to the moon" [guide.md#L3].', '"flies to the moon" (unverified: guide.md).'),
    "hallucinated, short": ('It is "perfect" [guide.md#L3].', 'It is "perfect" (unverified: guide.md).'),
    "reflowed, wrong line": ('It "resumes after a crash" [guide.md#L5].', '1. guide.md, lines 3-4: "resumes after'),
    "single quotes": ("It 'keeps no step' [guide.md#L4].", "'keeps no step' (unverified: guide.md)."),
    "blockquote": ("So:\n\n> It flies to the moon and back. [guide.md#L3]", "and back. (unverified: guide.md)"),
    "figures": ("A seat is 21 dollars [guide.md#L5].", "A seat is 21 dollars (unverified: guide.md)."),
    "lost minus sign": ('It says "5 %" [guide.md#L4].', 'It says "5 %" (unverified: guide.md).'),
    "no label, true": ('It says "keeps every step. Margins were -5 %".', 'were -5 %" [1].'),
    "no label, made up": ('It says "keeps a few steps now and then".', 'now and then" (unverified).'),
    "in part": ('It "keeps every step" and "flies off" [guide.md#L4].', '"keeps every step" [1] and "flies off" (unv'),
    "the question": ('You ask whether it is "free for all of us in here".', 'us in here".\n'),
    "a web page": ("It holds 2^20 rows [page.html#L3].", '1. page.html, section "Book > Size", line 3: "It holds 2^20'),
    "confidence": ("It resumes [guide.md#L3].\nConfidence: 9/10", "It resumes [1].\n\n## Sources"),
    "thoughts": ("<think>Hm [guide.md#L3].</think>It resumes [guide.md#L3].", "?\n\nIt resumes [1].\n\n## Sources"),
    "headings": ("# All\n\nSo.\n\n## Sources\n\n1. a made up one", "### All\n\nSo.\n\n## How this was made"),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "shown"), CASES.values(), ids=CASES.keys())
async def test_what_an_agent_says_is_looked_up(answer: str, shown: str, tmp_path: Path) -> None:
    report = await report_of(tmp_path, answer)

    assert shown in report, report


EDITED = ["true", "hallucinated", "reflowed, wrong line", "figures", "no label, made up", "in part", "blockquote"]


@pytest.mark.parametrize("case", EDITED)
async def test_what_the_editor_writes_is_looked_up_like_any_other_text(case: str, tmp_path: Path) -> None:
    editor, shown = CASES[case]

    assert shown in await report_of(tmp_path, "It keeps every step [guide.md#L4].", editor)


async def test_the_report_names_the_model_of_each_agent(tmp_path: Path) -> None:
    assert "by ada (scripted)" in await report_of(tmp_path, "It resumes [guide.md#L3].")


SAME = "It resumes after a crash and keeps every step of a run [guide.md#L3-L4]."


@pytest.mark.parametrize("way", ["editor", "no editor", "editor failed"])
async def test_what_two_tasks_found_is_said_once_before_the_editor_and_however_a_report_is_put_together(
    way: str, tmp_path: Path
) -> None:
    (tmp_path / "guide.md").write_bytes(GUIDE.encode())
    edited = {"editor": SAME, "editor failed": ""}
    model = ScriptedModel(
        {EDITOR: edited.get(way, "none"), REVIEWER: REVIEW, '<task id="a"': SAME, '<task id="b"': f"{SAME}\n\nN/A"}
    )
    team = [AgentSpec(name="ada", role="generalist")] if way != "no editor" else [agent(Turns(SAME))]
    async with opened(*team, model=model) as sup:
        run = await sup.start("Q", sources=[str(tmp_path / "guide.md")], plan=plan("a", "b"))
    asked = [str(call.messages[-1].text) for call in model.calls if EDITOR in str(call.messages[0].text)]
    body = (run.report or "").partition("\n## Sources")[0]

    assert run.status in ("complete", "partial")
    assert [text.count("keeps every step") for text in asked] == [1] * (way != "no editor")
    assert body.count("keeps every step") == 1
    assert "N/A" not in body
