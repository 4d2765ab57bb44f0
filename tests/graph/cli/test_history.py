"""`baton history`: what is remembered, and forgetting it."""

from tests.graph.cli.conftest import Baton

DB = "runs.db"


def test_the_command_lists_what_is_remembered_and_forgets_a_thread(baton: Baton, tea: str) -> None:
    assert (
        baton("run", "How much caffeine has tea?", "--sources", tea, "--thread", "tea", "--db", DB, "--json").code == 0
    )
    assert baton("prune", "--keep-days", "0", "--db", DB).code == 0
    said = baton("history", "--db", DB, "--json")
    shown = baton("history", "--db", DB)
    gone = baton("history", "--forget", "tea", "--db", DB)

    assert [(one["thread_id"], one["status"]) for one in said.lines[0]] == [("tea", "complete")]
    assert "30 mg" not in said.out
    assert "How much caffeine has tea?" in " ".join(shown.out.split())
    assert (gone.code, gone.err.strip()) == (0, "1 run forgotten")
    assert baton("history", "--db", DB, "--json").lines == [[]]
    assert "nothing is remembered of a thread 'tea'" in baton("history", "--forget", "tea", "--db", DB).err


def test_the_offline_model_learns_too_and_the_command_says_so(baton: Baton, tea: str) -> None:
    for n in range(3):
        request = "Analyze the green tea market"
        assert baton("run", request, "--sources", tea, "--thread", f"t{n}", "--db", DB, "--yes", "--json").code == 0
    done = [one["status"] for one in baton("history", "--db", DB, "--json").lines[0]]
    baton("run", "Analyze the coffee market", "--sources", tea, "--thread", "coffee", "--db", DB, "--yes", "--json")
    said = baton("status", "coffee", "--db", DB).out

    asked = baton("history", "--like", "Do a market analysis of cocoa", "--db", DB, "--json").lines[0]
    assert sorted(one["thread_id"] for one in asked) == ["coffee", "t0", "t1", "t2"]
    assert baton("history", "--like", "Delete the coffee market analysis", "--db", DB, "--json").lines == [[]]
    assert set(done) == {"complete"}
    assert "learned: the plan was taken from earlier runs" in said.replace("\n", " ")
    assert "green" not in baton("status", "coffee", "--plan", "--db", DB).out
