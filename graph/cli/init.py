"""`baton init`: a new project, with a team, something to work on, and a place for keys."""

from pathlib import Path
from typing import Annotated

import typer

from graph.cli.options import AsJson
from graph.cli.screen import print_err, print_out, put_json
from state.errors import BadInput

TEAM = """\
# Who works. `baton team --team team.yaml` checks the file; Baton's docs/agents.md has all that an agent can have.
agents:
  - name: reader
    role: researcher
    specialty: finding what the sources say, with where it stands
    tools: [search, read, query]
  - name: writer
    role: writer
    specialty: short texts that say the important thing first
    tools: [write]
  - name: counter
    role: analyst
    specialty: counting words
    skills: [count, words]
    run: "agents:count_words"   # a Python function, in agents.py beside this file

# What a run may do; `baton policy` lists every field.
policy:
  oversight: in_the_loop
  approval_timeout_s: 1800
"""
AGENTS = """\
\"\"\"Agents of this project that are Python functions.\"\"\"


async def count_words(brief, desk):
    \"\"\"How many words the results have that the task depends on, or the request if there are none.\"\"\"
    texts = [str(result) for result in brief.inputs.values()] or [brief.query]
    return f"{sum(len(text.split()) for text in texts)} words"
"""
NOTES = """\
# The lighthouse of Cape Morrow

The lighthouse was lit in 1887. It has 214 steps. Its lamp reaches 19 nautical miles.
Since 1986 nobody lives there; a keeper comes by boat on the first Monday of each month.
"""
ENV = """\
# Without a key the offline model reads your sources and quotes them; nothing leaves this machine.
# OPENAI_API_KEY=
# A server of your own (Ollama, vLLM, llama.cpp): OPENAI_BASE_URL=http://localhost:11434/v1
# BATON_MODEL=gpt-4o-mini
BATON_TEAM=team.yaml
BATON_SOURCES=sources
"""
FILES = {"team.yaml": TEAM, "agents.py": AGENTS, "sources/lighthouse.md": NOTES, ".env": ENV}
"""What a new project has."""


def init(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="The folder, made if it is not there")] = Path(),
    as_json: AsJson = False,
) -> int:
    """Begin a project: a team file, an agent of your own, something to read, and .env; nothing is overwritten.

    Examples:
      baton init
      baton init lighthouse
    """
    paths = {folder / name: text for name, text in FILES.items()}
    if there := [str(path) for path in paths if path.exists()]:
        raise BadInput(f"{', '.join(there)}: already there, and nothing was changed; give another folder")
    try:
        for path, text in paths.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{error.filename or folder} cannot be written: {error.strerror or error}") from error
    if as_json:
        put_json([str(path) for path in paths])
        return 0
    for path in paths:
        print_out(str(path))
    where = "" if folder == Path() else f"cd {folder} && "
    print_err(f'now: {where}baton run "How many steps does the lighthouse have?" --sources sources')
    return 0
