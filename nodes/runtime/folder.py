"""Where a run's files go: one folder for each thread, and below it one for each task of a nested supervisor."""

import re
from hashlib import sha256
from pathlib import Path

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")


def run_folder(artifacts: Path, thread_id: str) -> Path:
    """The folder of a thread below `artifacts`: its name where that can be one, else one that no other thread has."""
    if _PLAIN.fullmatch(thread_id):
        return artifacts / thread_id
    mark = sha256(thread_id.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return artifacts / f"{re.sub(r'[^A-Za-z0-9_-]+', '_', thread_id)[:60]}-{mark}"


def nested_folder(folder: Path, task_id: str) -> Path:
    """The folder of a nested supervisor, by that of the outer run and the outer task."""
    return folder / "nested" / task_id
