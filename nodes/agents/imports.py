"""What a team file names by `package.module:name`: found by Python, also in modules that lie beside the file."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from langchain_core.tools import BaseTool, tool

from state.errors import TeamInvalid
from state.text import in_words


def imported(where: Any, folder: Path | None) -> Any:
    """What `package.module:name` names.

    Raises:
        TeamInvalid: it has another form, or cannot be imported; whatever the import raises is in the message.
    """
    module, colon, name = str(where).partition(":")
    if not (colon and module and name and isinstance(where, str)):
        raise TeamInvalid(f"{where!r} is not of the form package.module:name")
    beside = str(folder.absolute()) if folder else ""
    if beside and beside not in sys.path:
        sys.path.append(beside)
    try:
        found = import_module(module)
    except SystemExit as error:
        raise TeamInvalid(f"{module} cannot be imported: it ends the process when it is imported") from error
    except Exception as error:
        raise TeamInvalid(f"{module} cannot be imported: {in_words(error)}") from error
    for part in name.split("."):
        found = getattr(found, part, None)  # type: ignore[assignment]
    if found is None:
        raise TeamInvalid(f"there is no {name!r} in {module}")
    return found


def imported_tool(where: str, folder: Path | None) -> BaseTool:
    """The LangChain tool of that name; a function with a docstring and typed arguments becomes one.

    Raises:
        TeamInvalid: it cannot be imported, or no tool can be made of it.
    """
    found = imported(where, folder)
    if isinstance(found, BaseTool):
        return found
    if not callable(found) or isinstance(found, type):
        raise TeamInvalid(f"{where} is no tool: it has to be a LangChain tool, or a function with a docstring")
    try:
        made: BaseTool = tool(found)
    except (TypeError, ValueError) as error:
        raise TeamInvalid(f"{where} is no tool: {error}") from error
    return made
