"""Small files of every kind that offices make, made in the test."""

import io
import json
import mailbox
import tarfile
import zipfile
from email.message import EmailMessage
from pathlib import Path

import docx
import pptx
import xlsxwriter
from PIL import Image, ImageDraw, ImageFont

CHAPTER = "<html><body><h1>{title}</h1><p>{text}</p></body></html>"


def workbook() -> bytes:
    """Two sheets and an empty one: a table that begins at B3 under a title, and notes."""
    file = io.BytesIO()
    with xlsxwriter.Workbook(file) as book:
        prices = book.add_worksheet("2026")
        prices.write("B3", "Prices of spring")
        for row, cells in enumerate([["plan", "price", "code"], ["free", 0, "007"], ["pro", 20.5, "008"]]):
            prices.write_row(4 + row, 1, cells)
        prices.write_formula("C8", "=SUM(C6:C7)", None, 20.5)
        notes = book.add_worksheet("Notes")
        notes.write("A1", "The pro plan grows by a tenth in autumn.")
        book.add_worksheet("Empty")
    return file.getvalue()


def word() -> bytes:
    """Headings, paragraphs and a table."""
    document = docx.Document()
    document.add_heading("Handbook", 0)
    document.add_heading("Leave", 1)
    document.add_paragraph("Everybody has 28 days of leave a year.")
    document.add_heading("Travel", 1)
    document.add_paragraph("Trains are booked by the office.")
    table = document.add_table(rows=2, cols=2)
    for at, text in enumerate(("Class", "Limit", "second", "300 euros")):
        table.cell(at // 2, at % 2).text = text
    return _saved(document)


def slides() -> bytes:
    """Two slides, the second with notes."""
    presentation = pptx.Presentation()
    for title, text, notes in (
        ("Welcome", "Five teams in three towns.", ""),
        ("Figures", "Revenue grew by 12 percent.", "Say that costs grew less."),
    ):
        slide = presentation.slides.add_slide(presentation.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, text
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    return _saved(presentation)


def letter(subject: str = "Offer", text: str = "We accept your offer of May.\n", html: str = "") -> EmailMessage:
    """One message, with a file attached."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "ann@example.org", "bob@example.org", subject
    message.set_content(html or text, subtype="html" if html else "plain")
    message.add_attachment(b"data", maintype="application", subtype="octet-stream", filename="plan.bin")
    return message


def post(folder: Path) -> bytes:
    """An mbox file of two messages, one of which quotes a line that looks like the next."""
    box = mailbox.mbox(folder / "made.mbox")
    box.add(letter("First", "From here on it is quiet.\n"))
    box.add(letter("Second", html="<p>The meeting is on <b>Friday</b>.</p>"))
    box.close()
    return (folder / "made.mbox").read_bytes()


def book(encrypted: str = "") -> bytes:
    """An EPUB of two chapters; `encrypted`: a file in it that it says is."""
    chapters = [("Rain", "It rained for forty days."), ("Sun", "Then the sun came out again.")]
    items = "".join(f'<item id="c{n}" href="text/c{n}.xhtml"/>' for n in range(len(chapters)))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(len(chapters)))
    members = {
        "META-INF/container.xml": "<container><rootfiles><rootfile full-path='OEBPS/a.opf'/></rootfiles></container>",
        "OEBPS/a.opf": f"<package xmlns='http://www.idpf.org/2007/opf'><manifest>{items}</manifest><spine>{spine}</spine></package>",
        **({"META-INF/encryption.xml": f"<e><CipherReference URI='{encrypted}'/></e>"} if encrypted else {}),
        **{f"OEBPS/text/c{n}.xhtml": CHAPTER.format(title=t, text=x) for n, (t, x) in enumerate(chapters)},
    }
    return zipped({name: text.encode() for name, text in members.items()})


def notebook() -> bytes:
    """A title, and code with what it printed."""
    cells = [
        {"cell_type": "markdown", "source": ["# Growth\n", "Measured in spring."]},
        {"cell_type": "code", "source": "print(6 * 7)", "outputs": [{"text": ["42\n"]}]},
    ]
    return json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}}).encode()


def zipped(members: dict[str, bytes]) -> bytes:
    """A zip archive."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w:gz") -> bytes:
    """A tar archive."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    return file.getvalue()


def picture() -> bytes:
    """A grey square."""
    file = io.BytesIO()
    Image.new("RGB", (40, 40), "grey").save(file, "PNG")
    return file.getvalue()


def _saved(document: object) -> bytes:
    file = io.BytesIO()
    document.save(file)  # type: ignore[attr-defined]
    return file.getvalue()


def scan(text: str, kind: str) -> bytes:
    """A page with a text drawn on it, as a picture (`PNG`) or as a PDF without letters (`PDF`)."""
    file = io.BytesIO()
    page = Image.new("RGB", (1240, 400), "white")
    ImageDraw.Draw(page).text((60, 120), text, fill="black", font=ImageFont.load_default(size=44))
    page.save(file, kind, resolution=150)
    return file.getvalue()
