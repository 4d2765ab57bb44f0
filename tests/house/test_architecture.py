"""What ARCHITECTURE.md names is there, and every room is in it."""

import re

from tests.house.tracked import PACKAGES, ROOT, modules

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
NAMED = {name for name in re.findall(r"`([\w/.*-]+)`", PAGE) if "/" in name and "*" not in name}


def test_every_file_and_folder_that_it_names_is_there() -> None:
    places = (*(ROOT / package for package in PACKAGES), ROOT, ROOT / "nodes" / "tools")
    assert NAMED
    assert [name for name in sorted(NAMED) if not any((place / name).exists() for place in places)] == []


def test_every_room_is_in_it() -> None:
    folders = {path.parent.relative_to(ROOT).as_posix() for path in modules()}
    rooms = {folder for folder in folders if folder.count("/") <= 1} - {"nodes"}
    assert [room for room in sorted(rooms) if f"`{room}/`" not in PAGE] == []
