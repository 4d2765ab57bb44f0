"""A small MCP server that adds and forgets: `mcp_server.py FOLDER [PORT]`; without a port it is on stdio."""

import sys
from pathlib import Path

from mcp.server.fastmcp import FastMCP
from mcp.types import ToolAnnotations


def build(folder: Path, port: int = 0) -> FastMCP:
    """The server; its notes are files of `folder`."""
    server = FastMCP("notes", port=port or 8000, log_level="ERROR")

    @server.tool()
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @server.tool()
    def delete_note(name: str) -> str:
        """Forget a note."""
        (folder / name).unlink()
        return f"{name} is gone"

    @server.tool(annotations=ToolAnnotations(destructiveHint=True))
    def wipe() -> str:
        """Forget all notes."""
        return "all gone"

    @server.tool()
    def fail() -> str:
        """Raise."""
        raise ValueError("the notes are locked")

    return server


if __name__ == "__main__":
    port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    build(Path(sys.argv[1]), port).run("streamable-http" if port else "stdio")
