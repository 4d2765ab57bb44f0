"""What review has accepted: kept as a fingerprint of the tasks, so that whatever changes one of them is reviewed."""

import json
from collections.abc import Sequence
from hashlib import sha256

from pydantic import JsonValue


def fingerprint(tasks: Sequence[dict[str, JsonValue]]) -> str:
    """Tells these tasks, with their outcomes, from any others: SHA-256, in hex, of their JSON with sorted keys."""
    return sha256(json.dumps(tasks, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
