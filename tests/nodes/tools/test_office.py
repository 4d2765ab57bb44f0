"""What offices send: each kind read, found at the place that a person would look for, or left out in one line."""

import io
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import xlsxwriter
from PIL import Image

from nodes.agents.citations import check
from nodes.tools.readers.workbook import SHEETS
from nodes.tools.sources import Sources, open_sources
from state.citation import Citation
from tests.nodes.tools import office
from tests.nodes.tools.documents import encrypted_pdf_bytes, pdf_bytes

MAKERS: dict[str, Callable[[], bytes]] = {
    "prices.xlsx": office.workbook,
    "handbook.docx": office.word,
    "deck.pptx": office.slides,
    "offer.eml": lambda: office.letter().as_bytes(),
    "novel.epub": office.book,
    "growth.ipynb": office.notebook,
}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    folder = tmp_path_factory.mktemp("office")
    for name, make in MAKERS.items():
        (folder / name).write_bytes(make())
    (folder / "post.mbox").write_bytes(office.post(tmp_path_factory.mktemp("box")))
    (folder / "setup.toml").write_text("[server]\nport = 8080\n")
    (folder / "tool.py").write_text("LIMIT = 99\n")
    nested = office.zipped({"plans/inner.md": b"The inner plan has 3 steps.\n"})
    members = {"docs/guide.md": b"# Guide\n\nStart with the guide.\n", "inner.zip": nested, "../../etc/x.md": b"Up.\n"}
    (folder / "bundle.zip").write_bytes(office.zipped(members))
    (folder / "old.tar.gz").write_bytes(office.tarred({"readme.txt": b"An old readme of 1999.\n"}))
    return open_sources([str(folder)])


def shown(citation: Citation) -> str:
    return ", ".join(filter(None, [citation.shown_file, citation.section, citation.shown_place]))


@pytest.mark.parametrize(
    ("said", "place"),
    [
        ('The pro plan costs "20.5" [prices.xlsx/2026#r2].', "prices.xlsx, sheet 2026, C7"),
        ('"plan: pro; price: 20.5; code: 008" [prices.xlsx/2026#r2].', "prices.xlsx, sheet 2026, B7:D7"),
        ('It says "grows by a tenth in autumn" [prices.xlsx/Notes#r1].', "prices.xlsx, sheet Notes, A1"),
        ('"28 days of leave" [handbook.docx#b3].', "handbook.docx, Handbook > Leave, paragraph 3"),
        ('"300 euros" [handbook.docx#b7].', "handbook.docx, Handbook > Travel, paragraph 7"),
        ('"Revenue grew by 12 percent" [deck.pptx#s2].', "deck.pptx, slide 2"),
        ('"costs grew less" [deck.pptx#s1].', "deck.pptx, slide 2"),
        ('"We accept your offer of May" [offer.eml#m1].', "offer.eml, message 1"),
        ('"The meeting is on Friday" [post.mbox#m1].', "post.mbox, message 2"),
        ('"It rained for forty days" [novel.epub#h1].', "novel.epub, chapter 1"),
        ('"Measured in spring" [growth.ipynb#c1].', "growth.ipynb, cell 1"),
        ('It printed "42" [growth.ipynb#c2].', "growth.ipynb, cell 2"),
        ('"port = 8080" [setup.toml#L2].', "setup.toml, line 2"),
        ('"LIMIT = 99" [tool.py#L1].', "tool.py, line 1"),
        ('"Start with the guide" [bundle.zip/docs/guide.md#L3].', "bundle.zip/docs/guide.md, line 3"),
        ('"The inner plan has 3 steps" [inner.md#L1].', "bundle.zip/inner.zip/plans/inner.md, line 1"),
        ('"An old readme of 1999" [old.tar.gz/readme.txt#L1].', "old.tar.gz/readme.txt, line 1"),
    ],
)
def test_a_quotation_is_found_where_a_person_would_look_for_it(sources: Sources, said: str, place: str) -> None:
    [claim] = check(said, "", sources).claims

    assert not claim.unverified
    assert [shown(citation) for citation in claim.citations] == [place]


@pytest.mark.skipif(not shutil.which("tesseract"), reason="Tesseract is not installed")
def test_the_text_of_pictures_and_scans_is_recognised_and_cited_by_page(tmp_path: Path) -> None:
    (tmp_path / "sign.png").write_bytes(office.scan("The harbour opens at seven.", "PNG"))
    (tmp_path / "scan.pdf").write_bytes(office.scan("The deposit is 450 euros.", "PDF"))

    found = open_sources([str(tmp_path)])
    said = '"The harbour opens at seven" [sign.png#p1]. The deposit is 450 euros [scan.pdf#p1].'
    one, two = check(said, "", found).claims

    assert one.unverified + two.unverified == []
    assert [shown(cited) for claim in (one, two) for cited in claim.citations] == [
        "sign.png, page 1",
        "scan.pdf, page 1",
    ]


@pytest.mark.skipif(not shutil.which("tesseract"), reason="Tesseract is not installed")
def test_a_picture_of_few_colours_that_may_be_seen_through_is_read_without_a_warning(tmp_path: Path) -> None:
    with Image.open(io.BytesIO(office.scan("The harbour opens at seven.", "PNG"))) as sign:
        sign.convert("P").save(tmp_path / "sign.png", transparency=bytes(range(256)))

    [claim] = check('"The harbour opens at seven" [sign.png#p1].', "", open_sources([str(tmp_path)])).claims

    assert claim.unverified == []


BOMB = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]><container>&b;</container>'
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000)
BAD = {
    **{f"cut-{name}": make()[: len(make()) // 2] for name, make in MAKERS.items() if not name.endswith(".eml")},
    **{f"locked{suffix}": OLE for suffix in (".xlsx", ".docx", ".pptx")},
    **{f"text{suffix}": b"not what it says" for suffix in (".xlsx", ".docx", ".zip", ".tar", ".gz", ".mbox", ".ipynb")},
    "locked.epub": office.book("OEBPS/text/c1.xhtml"),
    "bomb.zip": office.zipped({"a.txt": bytes(60_000_000)}),
    "bomb.xlsx": office.zipped({"xl/workbook.xml": bytes(60_000_000)}),
    "bomb.epub": office.zipped({"META-INF/container.xml": BOMB}),
    "empty.zip": office.zipped({"a.xyz": b"a", ".hidden.md": b"b"}),
    "bare.xlsx": office.zipped({"a.txt": b"a"}),
    "photo.png": b"\x89PNG not one",
}
ENCRYPTED = b'<manifest:file-entry manifest:full-path="content.xml"><manifest:encryption-data/></manifest:file-entry>'
LOCKED = {
    **{f"locked{suffix}": OLE for suffix in (".xlsx", ".xls", ".docx", ".pptx")},
    "locked.ods": office.zipped({"META-INF/manifest.xml": ENCRYPTED, "content.xml": bytes(range(256))}),
    "locked.pdf": encrypted_pdf_bytes(),
}


@pytest.mark.parametrize("name", LOCKED)
def test_what_has_a_password_is_said_to_have_one(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(LOCKED[name])
    (tmp_path / "good.md").write_text("All is well.")
    [skipped] = open_sources([str(tmp_path)]).skipped

    assert "password" in skipped.reason


def test_what_is_damaged_locked_or_a_bomb_is_left_out_with_one_line_each(tmp_path: Path) -> None:
    for name, data in {**BAD, "good.md": b"All is well."}.items():
        (tmp_path / name).write_bytes(data)

    found = open_sources([str(tmp_path)])
    told = {skipped.file: skipped.reason for skipped in found.skipped}

    assert found.files == ["good.md"]
    assert set(BAD) <= set(told)
    assert all(";" in why and "\n" not in why and len(why) < 160 for why in told.values()), told


def test_files_in_which_bytes_have_changed_are_read_or_left_out_and_stop_nothing(tmp_path: Path) -> None:
    whole = {name: make() for name, make in MAKERS.items()}
    whole |= {"a.pdf": pdf_bytes("one"), "a.zip": office.zipped({"a.md": b"Here."}), "a.mbox": b"From ada\n\nHello."}
    (tmp_path / "good.md").write_text("All is well.")
    for name, data in whole.items():
        for seed in range(12):
            drawn, changed = Random(seed), bytearray(data)
            for _ in range(drawn.choice([1, 3, 30])):
                changed[drawn.randrange(len(data))] = drawn.randrange(256)
            (tmp_path / f"{seed}-{name}").write_bytes(changed)
    (tmp_path / "begun.mbox").write_bytes(b"From ada")

    found = open_sources([str(tmp_path)])

    assert "good.md" in found.files
    assert all(";" in one.reason and "\n" not in one.reason for one in found.skipped)


def test_a_mailbox_from_windows_has_its_messages(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (tmp_path / "all.mbox").write_bytes(office.post(tmp_path_factory.mktemp("box")).replace(b"\n", b"\r\n"))

    assert "Friday" in open_sources([str(tmp_path / "all.mbox")]).text_at("all.mbox", "m2")


def test_a_book_whose_fonts_alone_are_encrypted_is_read(tmp_path: Path) -> None:
    (tmp_path / "novel.epub").write_bytes(office.book("OEBPS/font.otf"))

    assert open_sources([str(tmp_path)]).files == ["novel.epub"]


def test_archives_in_archives_are_opened_three_deep(tmp_path: Path) -> None:
    data = b"The core.\n"
    for depth in range(4, 0, -1):
        data = office.zipped({f"{depth}.{'md' if depth == 4 else 'zip'}": data, f"at-{depth}.md": b"Here.\n"})
    (tmp_path / "all.zip").write_bytes(data)

    found = open_sources([str(tmp_path)])

    assert [name.rpartition("/")[2] for name in found.files] == ["at-3.md", "at-2.md", "at-1.md"]
    assert [one.reason for one in found.skipped] == ["it lies more than 3 archives deep; unpack it by hand"]


def test_of_a_workbook_with_too_many_sheets_the_first_are_read(tmp_path: Path) -> None:
    file = tmp_path / "many.xlsx"
    with xlsxwriter.Workbook(file) as book:
        for number in range(SHEETS + 5):
            book.add_worksheet(f"s{number}").write("A1", f"sheet number {number}")

    found = open_sources([str(tmp_path)])

    assert len(found.files) == SHEETS
    assert [one.reason for one in found.skipped] == ["of its 205 sheets only the first 200 are read; split it"]


def test_a_sheet_is_a_table_for_sql_with_types_and_without_formulas(sources: Sources) -> None:
    [table] = [table for table in sources.tables.by_file.values() if table.file == "prices.xlsx/2026"]

    assert dict(table.columns) == {"plan": "VARCHAR", "price": "DOUBLE", "code": "VARCHAR"}
    assert sources.tables.query(f"SELECT sum(price) FROM {table.name} WHERE plan IS NOT NULL").rows == [(20.5,)]
