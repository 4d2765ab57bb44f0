"""Small source files for tests, PDFs included."""

import io
from pathlib import Path

from pypdf import PdfReader, PdfWriter

GUIDE = """# Guide

Baton splits a request into tasks.

## Prices

The pro plan costs 20 dollars a month.
It includes support.

| plan | price |
|------|-------|
| free | 0     |
| pro  | 20    |
"""
PRICES = "vendor,unit price,since\nAcme,20,2024-01-05\nBolt,1250.5,2023-11-30\nCargo,n/a,2022-02-01\n"


def pdf_bytes(*pages: str) -> bytes:
    """A PDF with one line of text a page, written by hand."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 20 100 Td ({text}) Tj ET" if text else ""
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 400 200] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {5 + 2 * number} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    return _assembled(objects)


def encrypted_pdf_bytes() -> bytes:
    """A PDF that opens with a password only."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(pdf_bytes("secret"))))
    writer.encrypt("a password", algorithm="AES-256")
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def fill(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Writes the files below `folder`, which is made, and returns it."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def _assembled(objects: list[str]) -> bytes:
    out = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    trailer = f"trailer << /Size {size} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF"
    return out + f"xref\n0 {size}\n0000000000 65535 f \n{table}{trailer}".encode()
