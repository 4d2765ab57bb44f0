"""The tools as agents call them."""

import asyncio
import os
import time
from pathlib import Path

import pytest
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool

from nodes.tools.pages import Web
from nodes.tools.sources import open_sources
from nodes.tools.toolbox import TOOL_NAMES, build_tools
from nodes.tools.web import Outside
from state.citation import labels_in
from state.errors import TeamInvalid, ToolRefused
from state.record import Artifact
from tests.nodes.tools.documents import GUIDE, PRICES, fill, pdf_bytes

Toolbox = dict[str, BaseTool]
OUTSIDE = Outside(Web(), None, time.time)


def contents(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} if folder.exists() else {}


def content_of(folder: Path, name: str) -> str:
    return (folder / name).read_bytes().decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "artifacts"


@pytest.fixture
def tools(tmp_path: Path, folder: Path) -> Toolbox:
    root = fill(tmp_path / "sources", {"guide.md": GUIDE, "prices.csv": PRICES, "s.pdf": pdf_bytes("One", "Two")})
    built = build_tools(TOOL_NAMES, open_sources([str(root)]), folder, "t1", OUTSIDE)
    return {tool.name: tool for tool in built}


async def test_search_gives_passages_line_for_line_after_their_label(tools: Toolbox) -> None:
    found = await tools["search"].ainvoke({"query": "pro plan support"})
    assert found.startswith("[guide.md#L5-L13] ## Prices\n\nThe pro plan costs")
    assert labels_in(found)[0] == ("guide.md", "L5-L13")


async def test_search_says_when_nothing_matches(tools: Toolbox) -> None:
    assert (await tools["search"].ainvoke({"query": "zeppelin"})).startswith("No passage matches 'zeppelin'")


async def test_read_gives_labels_and_says_what_is_left(tools: Toolbox) -> None:
    text = await tools["read"].ainvoke({"file": "prices.csv", "start": 1, "count": 2})
    assert text == (
        "[prices.csv#r1] vendor: Acme; unit price: 20; since: 2024-01-05\n\n"
        "[prices.csv#r2] vendor: Bolt; unit price: 1250.5; since: 2023-11-30\n\n"
        "(1 of 3 rows are left; go on with start=3.)"
    )
    pages = await tools["read"].ainvoke({"file": "s.pdf"})
    assert pages == "[s.pdf#p1] One\n\n[s.pdf#p2] Two\n\n(This is the end of s.pdf (2 pages).)"


async def test_query_gives_a_markdown_table_after_the_label_of_its_source(tools: Toolbox) -> None:
    text = await tools["query"].ainvoke(
        {"sql": "SELECT vendor, unit_price * 0.1 AS fee FROM prices ORDER BY 1 LIMIT 2"}
    )
    assert text == "[prices.csv#table]\n\n| vendor | fee |\n| --- | --- |\n| Acme | 2 |\n| Bolt | 125.05 |"
    assert "only the first 50 rows" in await tools["query"].ainvoke({"sql": "FROM range(60)"})
    assert await tools["query"].ainvoke({"sql": "SELECT 'a|b\nc' AS x"}) == "| x |\n| --- |\n| a\\|b c |"
    assert "(no rows)" in await tools["query"].ainvoke({"sql": "SELECT 1 WHERE false"})


@pytest.mark.parametrize(
    ("name", "args"), [("search", {"query": "a"}), ("read", {"file": "a"}), ("query", {"sql": "SELECT 1"})]
)
async def test_without_sources_a_tool_says_so(folder: Path, name: str, args: dict[str, str]) -> None:
    tool = build_tools([name], None, folder, "t1", OUTSIDE)[0]
    with pytest.raises(ToolRefused, match="no sources were given"):
        await tool.ainvoke(args)


def test_tools_come_in_order_and_once(folder: Path) -> None:
    built = build_tools(["read", "search", "read"], None, folder, "t", OUTSIDE)

    assert [tool.name for tool in built] == ["read", "search"]


def test_an_unknown_tool_is_refused_with_the_known_ones(folder: Path) -> None:
    with pytest.raises(TeamInvalid, match=r"unknown tools \['fly'\]; the built-in tools are search, read, query"):
        build_tools(["read", "fly"], None, folder, "t1", OUTSIDE)


def test_every_tool_has_a_one_line_description(tools: Toolbox) -> None:
    assert all(tool.description and "\n" not in tool.description for tool in tools.values())


async def test_write_gives_an_artifact_and_its_file(tools: Toolbox, folder: Path) -> None:
    call = {"name": "write", "args": {"name": "notes/a.md", "content": "Grüße\r\n"}, "id": "1", "type": "tool_call"}
    message = await tools["write"].ainvoke(call)
    assert isinstance(message, ToolMessage)
    artifact = Artifact.model_validate(message.artifact)
    assert (artifact.name, artifact.bytes, artifact.task_id) == ("notes/a.md", 9, "t1")
    assert artifact.path == str(folder / "notes" / "a.md")
    assert content_of(folder, "notes/a.md") == "Grüße\r\n"
    assert (await tools["write"].ainvoke(call)).artifact == message.artifact
    assert [path.name for path in (folder / "notes").iterdir()] == ["a.md"]


async def test_writing_again_replaces_the_content(tools: Toolbox, folder: Path) -> None:
    await tools["write"].ainvoke({"name": "a.md", "content": "one"})
    await tools["write"].ainvoke({"name": "a.md", "content": "two"})
    assert (folder / "a.md").read_text(encoding="utf-8") == "two"


NAMES = [
    "",
    " ",
    "/a",
    "../a",
    "a/../../b",
    ".hidden",
    "a/.b",
    "a//b",
    "a\\b",
    "a\x00",
    "a\nb",
    "x" * 201,
    "1/2/3/4/5/6/7",
]


@pytest.mark.parametrize("name", [*NAMES, "out/a.md", "link.md", "folder", "published/outbox/a", "Published/a"])
async def test_a_name_that_leaves_the_folder_is_refused(
    tools: Toolbox, folder: Path, tmp_path: Path, name: str
) -> None:
    outside = fill(tmp_path / "outside", {"kept.md": "kept"})
    fill(folder, {"folder/x": "x"})
    (folder / "out").symlink_to(outside)
    (folder / "link.md").symlink_to(outside / "kept.md")
    with pytest.raises(ToolRefused):
        await tools["write"].ainvoke({"name": name, "content": "mine"})
    assert contents(outside) == {"kept.md": "kept"}
    assert contents(folder / "published") == {}


@pytest.mark.parametrize("content", ["x" * (10 * 1024 * 1024 + 1), "\ud800"], ids=["large", "surrogate"])
async def test_content_that_cannot_be_stored_is_refused(tools: Toolbox, folder: Path, content: str) -> None:
    with pytest.raises(ToolRefused):
        await tools["write"].ainvoke({"name": "a.md", "content": content})
    assert contents(folder) == {}


async def test_a_folder_that_cannot_be_made_is_a_refusal(tmp_path: Path) -> None:
    fill(tmp_path, {"file": "in the way"})
    tool = build_tools(["write"], None, tmp_path / "file", "t1", OUTSIDE)[0]
    with pytest.raises(ToolRefused, match="cannot be written"):
        await tool.ainvoke({"name": "a.md", "content": "x"})


async def test_publishing_is_sensitive_and_can_be_repeated_and_undone(tools: Toolbox, folder: Path) -> None:
    assert tools["publish"].metadata == {"sensitive": True, "risk": "high", "undo": "unpublish", "cost": 0.0}
    text = {"name": "post.md", "content": "Hello"}
    target = folder / "published" / "outbox" / "post.md"
    assert await tools["publish"].ainvoke(text) == "published outbox/post.md"
    assert await tools["publish"].ainvoke(text) == "outbox/post.md was published already, with this content"
    with pytest.raises(ToolRefused, match="another content"):
        await tools["publish"].ainvoke({**text, "content": "Other"})
    assert target.read_text(encoding="utf-8") == "Hello"
    assert await tools["unpublish"].ainvoke({"name": "post.md"}) == "took back outbox/post.md"
    assert "nothing to take back" in await tools["unpublish"].ainvoke({"name": "post.md"})
    assert list(target.parent.iterdir()) == []


async def test_of_two_that_publish_at_once_one_is_refused(tools: Toolbox, folder: Path) -> None:
    calls = (tools["publish"].ainvoke({"name": "a", "content": f"{n}" * 9999, "channel": "x"}) for n in range(8))
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert sum(isinstance(answer, ToolRefused) for answer in answers) == 7
    assert len(list((folder / "published" / "x").iterdir())) == 1


@pytest.mark.parametrize(
    ("name", "channel"), [("../a", "outbox"), ("a", "../out"), ("a", ""), ("a", "x/y"), (".a", "x")]
)
@pytest.mark.parametrize("tool", ["publish", "unpublish"])
async def test_a_channel_that_leaves_the_folder_is_refused(tools: Toolbox, tool: str, name: str, channel: str) -> None:
    with pytest.raises(ToolRefused):
        await tools[tool].ainvoke({"name": name, "content": "x", "channel": channel})


async def test_what_agents_write_has_the_mode_that_the_umask_leaves(tools: Toolbox, folder: Path) -> None:
    before = os.umask(0o027)
    try:
        await tools["write"].ainvoke({"name": "notes/a.md", "content": "a"})
        await tools["publish"].ainvoke({"name": "b.md", "content": "b"})
    finally:
        os.umask(before)

    files = [folder / "notes/a.md", folder / "published/outbox/b.md"]
    assert [oct(path.stat().st_mode & 0o777) for path in files] == ["0o640"] * 2


@pytest.mark.parametrize("name", [" published/x", "published /x", "a/b ", " report.md"])
async def test_a_name_with_a_blank_at_an_edge_is_refused(tools: Toolbox, folder: Path, name: str) -> None:
    with pytest.raises(ToolRefused, match=r"a blank|published folder"):
        await tools["write"].ainvoke({"name": name, "content": "x"})
    assert contents(folder) == {}
