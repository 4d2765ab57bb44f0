"""What is kept of a result: a big one goes to a file, and the state of the run holds its beginning and where it is."""

import json
from pathlib import Path

from nodes.agents.claims import claims_in
from nodes.tools.filing import digest, place_in, put
from nodes.tools.sources import Sources
from state.artifact import Artifact
from state.outcome import Outcome, as_text

LARGEST = 100_000
"""Characters of a result that go into the state of a run; what is longer becomes an artifact."""
SHOWN = 4_000
"""Characters of such a result that stay."""


def kept(outcome: Outcome, folder: Path, sources: Sources | None) -> Outcome:
    """The outcome with its claims found and its size bounded. Blocking.

    Raises:
        ToolRefused: the artifacts folder cannot be written to.
    """
    if outcome.status != "done":
        return outcome
    text = outcome.text
    if len(text) > LARGEST:
        artifact = _filed(outcome, folder)
        note = f"\n\n… ({len(text)} characters in all, in the artifact {artifact.name})"
        outcome = outcome.model_copy(
            update={"result": text[:SHOWN] + note, "artifacts": [*outcome.artifacts, artifact], "claims": []}
        )
    if outcome.claims:
        return outcome
    return outcome.model_copy(update={"claims": claims_in(as_text(outcome.result), outcome.task_id, sources)})


def _filed(outcome: Outcome, folder: Path) -> Artifact:
    is_text = isinstance(outcome.result, str)
    name = f"results/{outcome.task_id}.{'txt' if is_text else 'json'}"
    content = outcome.text if is_text else json.dumps(outcome.result, ensure_ascii=False)
    data = content.encode("utf-8", "replace")
    target = place_in(folder, name)
    put(target, data, overwrite=True)
    return Artifact(
        name=name, path=str(target.resolve()), bytes=len(data), sha256=digest(data), task_id=outcome.task_id
    )
