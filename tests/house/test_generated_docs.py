"""The pages that are made from models say what the models say now."""

from importlib.util import module_from_spec, spec_from_file_location

import pytest

from tests.house.tracked import ROOT

DOCS = ROOT / "docs"


@pytest.mark.parametrize("name", ["policy.md", "events.md", "../README.md"])
def test_a_generated_page_is_as_it_would_be_generated_now(name: str) -> None:
    spec = spec_from_file_location("generate", DOCS / "generate.py")
    assert spec
    assert spec.loader
    made = module_from_spec(spec)
    spec.loader.exec_module(made)

    assert (DOCS / name).read_text(encoding="utf-8") == made.PAGES[name](), "run `python docs/generate.py`"
