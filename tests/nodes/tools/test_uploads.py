"""Files in a message are kept as sources, whatever page sent them, or are refused by name and leave nothing behind."""

from base64 import b64encode, encodebytes, urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest

from nodes.tools.uploads import kept_uploads
from state.errors import SourcesInvalid

TEXT = "The lamp is blue ~~~???>>>. ÿþ\n".encode() * 9
DATA = b64encode(TEXT).decode()


def block(data: Any = DATA, name: Any = "lamp.txt", **more: Any) -> dict[str, Any]:
    """As Agent Chat UI sends it."""
    return {"type": "file", "mimeType": "text/plain", "data": data, "metadata": {"filename": name}, **more}


def kept(folder: Path, *blocks: object) -> dict[str, bytes]:
    """The files of the thread, by name."""
    asked = {"type": "text", "text": "What colour has the lamp?"}
    return {Path(one).name: Path(one).read_bytes() for one in kept_uploads([asked, *blocks], folder, 10_000)}


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        (block(), "lamp.txt"),
        (block(encodebytes(TEXT).decode()), "lamp.txt"),
        (block(urlsafe_b64encode(TEXT).decode().rstrip("=")), "lamp.txt"),
        (block(name="../../etc/lamp.txt"), "lamp.txt"),
        (block(name=".."), "upload-1.txt"),
        (block(name=7), "7.txt"),
        (block(metadata="no mapping"), "upload-1.txt"),
        ({"type": "file", "file": {"filename": "lamp.md", "file_data": f"data:text/plain;base64,{DATA}"}}, "lamp.md"),
        ({"type": "document", "title": "lamp.md", "source": {"media_type": "text/markdown", "data": DATA}}, "lamp.md"),
        ({"type": "file", "base64": DATA, "mime_type": "text/plain", "extras": {"name": "lamp.txt"}}, "lamp.txt"),
    ],
)
def test_a_file_is_kept_by_its_name_in_whatever_form_it_comes(sent: object, name: str, tmp_path: Path) -> None:
    assert kept(tmp_path, sent) == {name: TEXT}


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (block("%%% no base64", "a.pdf", mimeType="application/pdf"), "'a.pdf' .* no content"),
        (block(""), "'lamp.txt' .* no content"),
        (block([1, 2]), "'lamp.txt' .* no content"),
        ({"type": "image_url", "image_url": {"url": "https://example.org/lamp.png"}}, "'upload-3' .* the file itself"),
        (block(name="a.pdf"), r"^the upload 'a.pdf' cannot be used: it is a broken PDF"),
        (block(name="a.zip"), r"^the upload 'a.zip' cannot be used: it is damaged"),
        ({"type": "input_audio", "data": DATA, "name": "a.wav"}, "'a.wav' .* cannot be read; send text"),
        (block(b64encode(b"x" * 10_001).decode()), "'lamp.txt' .* 10001 bytes; give at most 10000"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name_and_nothing_of_the_message_is_kept(
    sent: object, why: str, tmp_path: Path
) -> None:
    old = kept(tmp_path, block(b64encode(b"Of the message before.").decode()))
    with pytest.raises(SourcesInvalid, match=why) as refused:
        kept(tmp_path, block(), block(name="more.txt"), sent)

    assert str(tmp_path) not in str(refused.value)
    assert kept(tmp_path) == old == {"lamp.txt": b"Of the message before."}


def test_two_files_of_one_name_are_two_files_and_a_later_one_takes_the_place_of_the_first(tmp_path: Path) -> None:
    other = b64encode(b"It has 12 lenses.").decode()
    assert kept(tmp_path, block(), block(other)) == {"lamp.txt": TEXT, "lamp-2.txt": b"It has 12 lenses."}
    assert kept(tmp_path, block(other))["lamp.txt"] == b"It has 12 lenses."
