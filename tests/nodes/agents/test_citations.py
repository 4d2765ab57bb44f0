"""Statements are checked, not labels: what is quoted and which figures are given is looked for in the sources."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from nodes.agents.citations import Checked, check
from nodes.tools.sources import Sources, open_sources
from tests.nodes.tools.documents import pdf_bytes

GUIDE = """\
# Guide

LangGraph keeps every step in a checkpoint.
It resumes after a crash. A human may
take the wheel at any moment.

Costs are 12 dollars a seat.

## Limits

The saver does not delete old rows. Margins fell to -5 % in 2023, from 3 % in 2022.
The team “never sleeps”, as they say, and the naïve config is self-
hosted; soft\u00adware for 1,200 users runs on 2<sup>16</sup> nodes.
A seat costs 10 dollars at Acme and 14 dollars at Bolt.
The price is **low** for `baton run --yes` and [the docs](https://example.org/docs) say so.
Of the three plans, two million people use the smallest, and twelve never pay.
"""
PAGE = """\
<html><body><h1>Handbook</h1>
<h2>Memory</h2><p>A store holds 2<sup>20</sup> rows and never forgets a name.</p>
<ol><li>Open the file</li><li>Read it twice</li></ol></body></html>
"""
SQL = "SELECT vendor, max(price) FROM prices GROUP BY vendor"
ANSWER = "[prices.csv#table]\n\n| vendor | max |\n| --- | --- |\n| Acme | 10 |\n| Bolt | 14 |"
MEAN = "SELECT avg(price) FROM prices"
COMPUTED = {ANSWER: SQL, "[prices.csv#table]\n\n| avg |\n| --- |\n| 11.6666666667 |": MEAN}
ASKED = 'Is it true that "the guide promises free seats for all"? How do the vendors compare?'


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    folder = tmp_path_factory.mktemp("docs")
    (folder / "guide.md").write_text(GUIDE)
    (folder / "windows.txt").write_bytes(
        b"Agents talk\r\nby mail and check-\r\npoints are kept.\r\n\r\nNothing is lost.\r\n"
    )
    (folder / "page.html").write_text(PAGE)
    (folder / "manual.rst").write_text("Runs end.\n\nEnds\n----\n\nThey end by night.\n\n--now  go on\n\nOr late.\n")
    (folder / "manual.md").write_text("Agents wait.\n\n## Mail\n\nThey wait for mail.\n")
    (folder / "prices.csv").write_text("vendor,price\nAcme,10\nBolt,14\nCato,11\n")
    (folder / "ja.txt").write_text("監督者は作業を分けます。\n人間はいつでも止められます。\n")
    (folder / "de.txt").write_text("Der „Rote Saal“ bleibt offen.\nDie »Alte Post« wird verkauft.\n")
    (folder / "decomposed.txt").write_text("The cafe\u0301 ﬁles its re\u0301sume\u0301 oﬃcially.\n")
    return open_sources([str(folder)])


def checked(text: str, sources: Sources, computed: Mapping[str, str] = COMPUTED) -> Checked:
    return check(text, "t1", sources, computed, ASKED)


def verdict(found: Checked) -> str:
    """`verified`: something is borne out and nothing is marked; `marked`; `both`; `nothing`: no claim was made."""
    cited = any(citation.quote for claim in found.claims for citation in claim.citations)
    marked = "(unverified" in found.text
    return {(True, False): "verified", (False, True): "marked", (True, True): "both"}.get((cited, marked), "nothing")


TRUE = {
    "double marks": 'It says "resumes after a crash" [guide.md#L4].',
    "typographic marks": "It says “resumes after a crash” [guide.md#L4].",
    "German marks": "Es heißt „resumes after a crash“ [guide.md#L4].",
    "guillemets": "Il dit « resumes after a crash » [guide.md#L4].",
    "German guillemets": "Es heißt »resumes after a crash« [guide.md#L4].",
    "single marks": "It says 'resumes after a crash' [guide.md#L4].",
    "single typographic marks": "It says ‘resumes after a crash’ [guide.md#L4].",
    "corner brackets": "「人間はいつでも止められます」と書かれている [ja.txt#L2]。",
    "a code span": "It prints `baton run --yes` [guide.md#L15].",
    "a blockquote with its label inside": "It says:\n\n> It resumes after a crash. [guide.md#L4]",
    "a blockquote with its label below": "So:\n\n> It resumes after a crash.\n> A human may take\n\n[guide.md#L4-L5]",
    "a blockquote with its label in the lead": "The guide says [guide.md#L4]:\n\n> It resumes after a crash.",
    "a blockquote with its author": "> It resumes after a crash.\n> — the guide\n\n— [guide.md#L4]",
    "a heading in a blockquote": "> Runs end.\n>\n> Ends\n> ----\n>\n> They end by night.\n[manual.rst#L1-L6]",
    "an option in a blockquote": "> They end by night.\n>\n> --now  go on\n>\n> Or late.\n[manual.rst#L6-L10]",
    "a blockquote that begins with a heading": "> ## Mail\n>\n> They wait for mail.\n[manual.md#L3-L5]",
    "a quotation in a blockquote": '> The guide says "resumes after a crash" here [guide.md#L4]',
    "reflowed": 'It says "A human may take the wheel at any moment" [guide.md#L4-L5].',
    "reflowed the other way": 'It says "resumes\nafter a crash" [guide.md#L4].',
    "CRLF in the source": 'It says "Agents talk by mail" [windows.txt#L1-L2].',
    "CRLF in the text": 'It says "Agents talk\r\nby mail" [windows.txt#L1-L2].',
    "hyphenation undone": 'It says "mail and checkpoints are kept" [windows.txt#L2-L3].',
    "hyphenation of a compound": 'It says "config is self-hosted" [guide.md#L12-L13].',
    "soft hyphens": 'It says "software for 1,200 users" [guide.md#L13].',
    "soft hyphens in the text": 'It says "resu\u00admes after a crash" [guide.md#L4].',
    "no-break spaces": 'It says "resumes\u00a0after a\u202fcrash" [guide.md#L4].',
    "composed accents": 'It says "the naïve config" [guide.md#L12].',
    "decomposed accents": 'It says "the nai\u0308ve config" [guide.md#L12].',
    "decomposed accents in the source": 'It says "The café files its résumé officially" [decomposed.txt#L1].',
    "other marks inside": "It says 'the team \"never sleeps\", as they say' [guide.md#L12].",
    "Markdown in the source": 'It says "The price is low for baton run --yes and the docs say so" [guide.md#L15].',
    "bold around it": 'It says **"resumes after a crash"** [guide.md#L4].',
    "a minus sign of another kind": 'It says "fell to −5 % in 2023" [guide.md#L11].',
    "per cent without a space": 'It says "fell to -5% in 2023" [guide.md#L11].',
    "a superscript as a tag": 'It says "runs on 2<sup>16</sup> nodes" [guide.md#L13].',
    "a superscript as a power": 'It says "runs on 2^16 nodes" [guide.md#L13].',
    "a superscript as a sign": 'It says "runs on 2¹⁶ nodes" [guide.md#L13].',
    "a superscript of a web page": 'It says "holds 2^20 rows" [page.html#L2].',
    "a list of a web page": 'It says "1. Open the file" [page.html#L3].',
    "an ellipsis": 'It says "LangGraph keeps … in a checkpoint" [guide.md#L3].',
    "an ellipsis in brackets": 'It says "It resumes [...] take the wheel" [guide.md#L4-L5].',
    "sic": 'It says "take the [sic] wheel" [guide.md#L5].',
    "a changed initial": 'It says "[i]t resumes after a crash" [guide.md#L4].',
    "a word put in brackets": 'It says "[LangGraph] resumes after a crash" [guide.md#L4].',
    "American punctuation": '"Costs are 12 dollars a seat," it says [guide.md#L7].',
    "a capital at the beginning": 'It says "Resumes after a crash." [guide.md#L4]',
    "two quotations": 'It says "keeps every step" and "resumes after a crash" [guide.md#L3-L4].',
    "two quotations with a label each": 'It "keeps every step" [guide.md#L3] and "resumes after" [guide.md#L4].',
    "a label that leads": 'According to [guide.md#L4], it "resumes after a crash".',
    "a short quotation": 'It calls the price "low" [guide.md#L15].',
    "a quotation of a row": 'It says "Bolt,14" [prices.csv#r2].',
    "a quotation of a row as it is shown": 'It says "vendor: Bolt; price: 14" [prices.csv#r2].',
    "without a label": 'The guide says "LangGraph keeps every step in a checkpoint".',
    "a blockquote without a label": "They write:\n\n> It resumes after a crash. A human may take the wheel.",
    "a paraphrase": "It goes on after it crashes [guide.md#L3-L5].",
    "a figure": "A seat is 12 dollars [guide.md#L7].",
    "a figure in another form": "It serves 1200 users [guide.md#L13].",
    "a figure with a German separator": "Es bedient 1.200 Nutzer [guide.md#L13].",
    "a figure with a scale": "It serves 1.2 thousand users [guide.md#L13].",
    "a figure that the source has in words": "Of 3 plans, 2,000,000 people use one [guide.md#L16].",
    "a negative figure": "Margins were at −5 % [guide.md#L11].",
    "a fall": "Margins fell by 5 % [guide.md#L11].",
    "figures in another order": "Bolt takes 14 dollars, Acme 10 [guide.md#L14].",
    "a power": "It runs on 2^16 nodes [guide.md#L13].",
    "a figure of a query": "Bolt asks 14 at most [prices.csv#table].",
    "a rounded figure of a query": "The mean is 11.67 [prices.csv#table].",
    "figures of two queries": "Bolt asks 14, the mean is 11.7 [prices.csv#table].",
    "a statement of a query without figures": "Bolt is the dearest [prices.csv#table].",
    "a negation kept": "The saver does not delete rows that are old [guide.md#L11].",
    "a quoted negation": 'It says "does not delete old rows" [guide.md#L11].',
    "a quotation denied on both sides": 'It does not "delete old rows" [guide.md#L11].',
    "a term": 'It has a "human touch" to it: the wheel [guide.md#L7].',
    "a so-called term": "It is a so-called 'golden path' for seats [guide.md#L7].",
    "an apostrophe": "The users' costs aren't high: it's 12 dollars a seat [guide.md#L7].",
    "a name of a file": "The file `guide.md` says that it resumes after a crash [guide.md#L4].",
    "a name of a table": 'In the table "prices" Bolt is at 14 [prices.csv#r2].',
    "a step of the text": "Step 1: Costs are 12 dollars a seat [guide.md#L7].",
    "figures with their years in another order": "In 2022 margins were 3 %, in 2023 -5 % [guide.md#L11].",
    "a changed ending": 'The team is said to "never sleep[ing]" there [guide.md#L12].',
    "a quotation in a table": '| Claim | Source |\n|---|---|\n| "resumes after a crash" | [guide.md#L4] |',
    "in parentheses": '("resumes after a crash" [guide.md#L4])',
    "several labels": "It keeps every step [guide.md#L3] [windows.txt#L2].",
    "German marks in the source": 'Es heißt: „Der ‚Rote Saal‘ bleibt offen“ [de.txt#L1].',
    "German guillemets in the source": 'Es heißt: "Die \'Alte Post\' wird verkauft" [de.txt#L2].',
}  # fmt: skip
FALSE = {
    "made up": 'It says "resumes only after a very long time" [guide.md#L4].',
    "made up, typographic": "It says “starts all over from the beginning” [guide.md#L4].",
    "made up, German marks": "Es heißt „starts all over from the beginning“ [guide.md#L4].",
    "made up, guillemets": "Il dit « starts all over from the beginning » [guide.md#L4].",
    "made up, single": "It says 'starts all over from the beginning' [guide.md#L4].",
    "made up, single typographic": "It says ‘starts all over from the beginning’ [guide.md#L4].",
    "made up, corner brackets": "「監督者は作業を止めます」と書かれている [ja.txt#L1]。",
    "made up, code": "It prints `baton fly --now` [guide.md#L15].",
    "made up, blockquote": "> It starts all over from the beginning. [guide.md#L4]",
    "made up, blockquote with a true word": '> It "resumes" only after a long time, at a cost. [guide.md#L4]',
    "made up, blockquote with asked words": '> Whether "the guide promises free seats for all" is told to whoever '
    "asks at the wheel by night, and to nobody else at all. [guide.md#L4]",
    "made up, blockquote with its label below": "It says:\n\n> It starts all over from the beginning.\n\n[guide.md#L4]",
    "made up, label in the lead": "The guide says [guide.md#L4]:\n\n> It starts all over from the beginning.",
    "made up, short": 'It says "never resumes" [guide.md#L4].',
    "made up, one word": 'The guide calls it "perfect" [guide.md#L4].',
    "made up, in the middle": "It is 'perfect' in the guide [guide.md#L4].",
    "made up, with a label that leads": 'According to [guide.md#L4], it "starts all over".',
    "made up, without a label": 'The guide says "LangGraph forgets every step at once".',
    "made up, blockquote without a label": "They write:\n\n> It starts all over from the beginning every time.",
    "made up, several labels": 'It says "starts all over" [guide.md#L4] [windows.txt#L2].',
    "a word left out": 'It says "LangGraph keeps step in a checkpoint" [guide.md#L3].',
    "a word changed": 'It says "It restarts after a crash" [guide.md#L4].',
    "the order changed": 'It says "after a crash it resumes" [guide.md#L4].',
    "a part of a word": 'It says "sumes after a cra" [guide.md#L4].',
    "halves in the wrong order": 'It says "in a checkpoint … LangGraph keeps" [guide.md#L3].',
    "halves far apart": 'It says "監督者は … LangGraph keeps" [guide.md#L3].',
    "one half made up": 'It says "LangGraph keeps … in a vault" [guide.md#L3].',
    "an ellipsis over a negation": 'It says "The saver does … delete old rows" [guide.md#L11].',
    "a lost minus sign": 'It says "fell to 5 % in 2023" [guide.md#L11].',
    "a lost minus sign at the edge": 'It says "5 % in 2023" [guide.md#L11].',
    "swapped figures": 'It says "fell to 3 % in 2022, from -5 % in 2023" [guide.md#L11].',
    "a figure changed": 'It says "Costs are 21 dollars a seat" [guide.md#L7].',
    "a figure cut": 'It says "200 users" [guide.md#L13].',
    "a power lost": 'It says "runs on 216 nodes" [guide.md#L13].',
    "a negation lost": 'It says "The saver does delete old rows" [guide.md#L11].',
    "a negation added": 'It says "It does not resume after a crash" [guide.md#L4].',
    "a negation cut off": 'The saver is said to "delete old rows" [guide.md#L11].',
    "an accent changed": 'It says "the naive config" [guide.md#L12].',
    "a figure in brackets": 'It says "Costs are [13] dollars a seat" [guide.md#L7].',
    "a paraphrased figure": "A seat is 13 dollars [guide.md#L7].",
    "a paraphrased figure, cut": "It serves 200 users [guide.md#L13].",
    "a paraphrased figure, other scale": "It serves 1.2 million users [guide.md#L13].",
    "a paraphrased figure in words": "A seat is thirteen dollars [guide.md#L7].",
    "a paraphrased minus sign lost": "Margins were at 5 % in the year [guide.md#L11].",
    "paraphrased figures swapped": "Acme costs 14 dollars and Bolt 10 [guide.md#L14].",
    "paraphrased figures with their years swapped": "Margins were 3 % in 2023 and -5 % in 2022 [guide.md#L11].",
    "swapped figures of a query": "Acme asks 14 and Bolt asks 10 [prices.csv#table].",
    "a label that leads a made up quotation": '[guide.md#L4] It "never resumes at all".',
    "a made up quotation in a table": '| Claim | Source |\n|---|---|\n| "never ever resumes" | [guide.md#L4] |',
    "a paraphrased negation lost": "The saver deletes old rows [guide.md#L11].",
    "a paraphrased negation added": "LangGraph does not keep every step in a checkpoint [guide.md#L3].",
    "a figure that no query gave": "Bolt asks 15 at most [prices.csv#table].",
    "a figure rounded the wrong way": "The mean is 11.6 [prices.csv#table].",
    "one of two figures that no query gave": "Bolt asks 14, the mean is 12.5 [prices.csv#table].",
    "a table that nobody asked": "Cato asks 11 [page.html#table].",
    "no such line": "Nothing is there [guide.md#L99].",
    "no such file": "No such file [nowhere.md#L1].",
    "no such page": "No such page [guide.md#p1].",
}  # fmt: skip
NOTHING = {
    "the user's own question": 'You asked whether "the guide promises free seats for all".',
    "a short quotation without a label": 'They like to call it "the wheel of it".',
    "fenced code": '```python\nprint("this is a line of code with many words")\n```',
    "an apostrophe without a label": "The users' data and the agents' mail don't mix here, it's said.",
    "a note": "> **Note:** this was written in a hurry by nobody in particular.",
    "code that was run": f"The figures come from `{SQL}`.",
    "code that is proposed": "Run `baton run --sources docs --yes now` to see it.",
    "a short word in marks": '"Yes," she said.',
    "an open mark": 'It says "nothing more than this and never ends.',
    "a statement of its own": "This is what the vendors have in common, in 3 points.",
}  # fmt: skip
MOVED = {
    "another line": ('It says "resumes after a crash" [guide.md#L7].', "[guide.md#L4]"),
    "another line, reflowed": ('It says "A human may take the wheel" [guide.md#L3].', "[guide.md#L4-L5]"),
    "no such line": ('It says "resumes after a crash" [guide.md#L99].', "[guide.md#L4]"),
    "another file": ('It says "resumes after a crash" [windows.txt#L1].', "[guide.md#L4]"),
    "no such file": ('It says "resumes after a crash. A human may" [nowhere.md#L1].', "[guide.md#L4]"),
    "no label": ('The guide says "LangGraph keeps every step in a checkpoint" often.', "[guide.md#L3]"),
    "no label, a blockquote": ("> LangGraph keeps every step in a checkpoint.", "[guide.md#L3]"),
    "another row": ('It says "Bolt,14" [prices.csv#r1].', "[prices.csv#r2]"),
    "a file named in another way": ('It says "resumes after a crash" [./Guide.md#L4].', "[guide.md#L4]"),
}  # fmt: skip


@pytest.mark.parametrize("text", TRUE.values(), ids=TRUE.keys())
def test_what_stands_there_is_verified(text: str, sources: Sources) -> None:
    assert verdict(checked(text, sources)) == "verified", checked(text, sources).text


@pytest.mark.parametrize("text", FALSE.values(), ids=FALSE.keys())
def test_what_does_not_stand_there_gets_no_source_and_is_marked(text: str, sources: Sources) -> None:
    assert verdict(checked(text, sources)) == "marked", checked(text, sources)


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING.keys())
def test_what_claims_no_source_is_left_alone(text: str, sources: Sources) -> None:
    assert checked(text, sources).text == text


@pytest.mark.parametrize(("text", "label"), MOVED.values(), ids=MOVED.keys())
def test_a_quotation_that_stands_elsewhere_gets_the_place_where_it_stands(
    text: str, label: str, sources: Sources
) -> None:
    found = checked(text, sources)

    assert verdict(found) == "verified"
    assert label in found.text
    assert found.text.count("#") == 1


ALIKE = [
    ("> A state-of-the-art har-\n> bour never sleeps.", '"A state of the art harbour never sleeps"', True),
    ("The plan is long term and well known.", '"The plan is long-term and well-known"', True),
    ("The harbour is notable for gulls.", '"The harbour is not able for gulls"', False),
    ("The record is minus 4 degrees.", "The record is \u22124 degrees", True),
    ("The record is minus 4 degrees.", '"The record is 4 degrees"', False),
    ("The sum of 9 minus 4 is 5.", "From 9 one takes 4", True),
]


@pytest.mark.parametrize(("there", "said", "holds"), ALIKE)
def test_hyphens_and_signs_are_read_as_people_write_them(there: str, said: str, holds: bool, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(f"{there}\n")
    claims = check(f"{said} [a.md#L1-L{there.count(chr(10)) + 1}].", "t1", open_sources([str(tmp_path)])).claims
    assert [not claim.unverified for claim in claims] == [holds]


@pytest.mark.parametrize(("said", "holds"), [("Olga is 31 m long", True), ("Olga is 1998 m long and of 2031", False)])
def test_figures_of_a_row_are_read_cell_by_cell(said: str, holds: bool, tmp_path: Path) -> None:
    (tmp_path / "ships.csv").write_text("ship,length,built\nOlga,31,1998\nSvea,12,2019\n")
    claims = check(f"{said} [ships.csv#r1].", "t1", open_sources([str(tmp_path)])).claims
    assert [not claim.unverified for claim in claims] == [holds]


SHOWN = {
    "a page that breaks its last word off": ("a.pdf#p1", "> Case counts on file-"),
    "a page that begins within a word": ("a.pdf#p2", "> systems of today."),
    "lines that begin and end within a word": ("a.txt#L2", "> systems and on infor-"),
    "an item behind another": ("a.txt#L5", "> • B: both of them"),
    "a comment that ends in dots": ("a.txt#L6-L7", "> # Set both.\n> # ..."),
    "a paragraph below a no": ("a.txt#L11-L12", "> A value of the library\n> is used."),
}
TEXT = """\
He counts on file-
systems and on infor-
mation.
• A: one of them
• B: both of them
# Set both.
# ...

Default: none

A value of the library
is used.
"""


@pytest.mark.parametrize(("place", "passage"), SHOWN.values(), ids=SHOWN.keys())
def test_a_passage_as_a_tool_shows_it_is_verified(place: str, passage: str, tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf_bytes("Case counts on file-", "systems of today."))
    (tmp_path / "a.txt").write_text(TEXT)
    found = checked(f"{passage}\n[{place}]", open_sources([str(tmp_path)]))

    assert (verdict(found), found.text) == ("verified", f"{passage}\n[{place}]")


@pytest.mark.parametrize("said", ['"systems of today" [a.txt#L1-L2]', '"lawful to hunt" [a.txt#L1-L2]'])
def test_a_part_of_a_word_within_a_place_is_no_quotation(said: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("These are file-\nsystems of today. It is un-\nlawful to hunt.\n")

    assert verdict(checked(f"It says {said}.", open_sources([str(tmp_path)]))) == "marked"
