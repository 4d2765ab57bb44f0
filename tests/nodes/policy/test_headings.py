"""A model's Markdown fits into a report: headings below Baton's, no sources of its own, no thoughts."""

import pytest

from nodes.policy.report import fitted


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("# Answer\n\n## Part\n\nSo.", "### Answer\n\n#### Part\n\nSo."),
        ("## Part\n\nSo.\n\n# Answer", "#### Part\n\nSo.\n\n### Answer"),
        ("#### Deep\n\nSo.", "#### Deep\n\nSo."),
        ("# A\n\n###### F", "### A\n\n###### F"),
        ("Answer\n======\n\nSo.\n\nPart\n----\n\nMore.", "### Answer\n\nSo.\n\n#### Part\n\nMore."),
        ("So.\n\n---\n\nMore.", "So.\n\n---\n\nMore."),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("```sh\n# a comment\n```", "```sh\n# a comment\n```"),
        ("#hash and # no heading", "#hash and # no heading"),
        ("So.\n\n## Sources\n\n1. made up\n2. more", "So."),
        ("So.\n\n## Sources\n\n1. made up\n\n## Next\n\nMore.", "So.\n\n### Next\n\nMore."),
        ("# All\n\nSo.\n\n## How this was made\n\nBy magic.\n\n### Deeper\n\nYes.", "### All\n\nSo."),
        ("So.\n\n**Sources:**\n\n- made up", "So."),
        ("So.\n\nSources:\n- made up", "So."),
        ("So.\n\nSOURCES\n-------\n\n- made up", "So."),
        ("# Sources of income\n\nRent.", "### Sources of income\n\nRent."),
        ("<think>Hm, # not this\n</think>\n\nSo.", "So."),
        ("<think>never closed", ""),
        ("Hm, well.\n</think>\n\nSo.", "So."),
        ("`<think>` is a tag.", "`<think>` is a tag."),
        ("```\n<think>x</think>\n```", "```\n<think>x</think>\n```"),
    ],
)
def test_a_models_text_is_fitted_in(text: str, plain: str) -> None:
    assert fitted(text) == plain
