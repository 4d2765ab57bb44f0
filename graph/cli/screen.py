"""Lines of text: results to stdout, everything else to stderr; JSON lines; text that cannot steer the terminal."""

import json
import re
import shlex
import sys
from datetime import datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `baton --help` has a line to say as well, and needs none of these
    from pydantic import JsonValue

    from graph.address import Address
    from state.event import Event
    from state.run import Run

_STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
"""Control characters, except tab and new line, and marks that reverse the direction of text."""


def fail(message: str, code: int) -> int:
    """One line about what went wrong; returns `code`."""
    print_err(f"baton: {one_line(message)}")
    return code


def print_err(line: str) -> None:
    """A line on stderr."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def print_out(text: str) -> None:
    """Text on stdout, as it is."""
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
    sys.stdout.flush()


def put_json(value: "JsonValue") -> None:
    """A JSON value on a line of stdout."""
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    print_out(json.dumps(value, ensure_ascii=not is_unicode))


def run_as_json(run: "Run") -> "JsonValue":
    """A run as the last line of `--json`."""
    return {"type": "baton.run", **run.model_dump(mode="json")}


def without_controls(text: str) -> str:
    """Text from documents, models and agents, without what would steer a terminal."""
    return _STEERS.sub("\ufffd", text)


def line_of(event: "Event", *, is_offline: bool = False) -> str:
    """An event as a line: `07:12:01 task_finished t1 researcher status=done tokens=312`.

    `is_offline`: no language model works on the run, so what was read and written is left out.
    """
    at = datetime.fromtimestamp(event.ts).astimezone().strftime("%H:%M:%S")
    what = event.phase if event.kind == "phase_entered" else None
    told = event.data
    if event.kind == "approval_requested":
        told = {"id": told.get("id"), "risk": told.get("risk"), "asks": _asks(event), "why": told.get("reason")}
    details = [_detail(item) for item in told.items() if not (is_offline and item[0] == "tokens")]
    words = [at, event.kind, what, event.task_id, event.agent, *details]
    return one_line(" ".join(word for word in words if word))


def _asks(event: "Event") -> str:
    from state.approval import Approval  # noqa: PLC0415 # whoever has no question to show needs none of it

    return Approval.model_validate({"task_id": event.task_id or "", "agent": event.agent or "", **event.data}).title


def _detail(item: tuple[str, "JsonValue"]) -> str:
    """`key=value`, where the value is short enough to say something on a line."""
    key, value = item
    if isinstance(value, dict | list) or value is None or value == "":
        return ""
    return f"{key}={value if isinstance(value, int | float) else one_line(str(value), 120)}"


def one_line(text: str, most: int = 2000) -> str:
    """Harmless text on one line, cut at `most` characters."""
    line = without_controls(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def seconds(duration: float) -> str:
    """A duration: `3.2s`, `4m 05s`, `2h 10m`, `3d 4h`."""
    if duration < 60:
        return f"{max(0.0, duration):.1f}s"
    whole = int(duration)
    if whole < 3600:
        return f"{whole // 60}m {whole % 60:02d}s"
    if whole < 86_400:
        return f"{whole // 3600}h {whole % 3600 // 60:02d}m"
    return f"{whole // 86_400}d {whole % 86_400 // 3600}h"


def moment(at: float, now: float) -> str:
    """A moment as people write it here: `07:12`, `yesterday 07:12`, `2026-11-21 07:12`."""
    then, today = datetime.fromtimestamp(at).astimezone(), datetime.fromtimestamp(now).astimezone().date()
    days = (today - then.date()).days
    said = {0: "", 1: "yesterday "}.get(days, f"{then:%Y-%m-%d} ")
    return f"{said}{then:%H:%M}"


OFFLINE = "offline"
"""What a run calls a model that is no language model: what it reads and writes costs nothing and is shown nowhere."""


def tokens_of(run: "Run") -> str:
    """What the run has used, `1,234`; empty where no language model was used."""
    return f"{run.usage.total_tokens:,}" if run.usage.total_tokens and run.model != OFFLINE else ""


def command(verb: str, *words: str, db: "Address | None") -> str:
    """A command to type, such as `baton resume THREAD`, on the database that is in use now."""
    rest = [shlex.quote(word) for word in words]
    return " ".join(["baton", verb, *rest, *(["--db", shlex.quote(str(db))] if db else [])])
