"""No test reaches the network: the guard is installed here and, by `PYTHONPATH`, in every Python that a test starts."""

import sys
from pathlib import Path

_started = sys.modules.get("sitecustomize")
if _started is not None and Path(str(_started.__file__)) == Path(__file__).with_name("sitecustomize.py"):
    # A worker of the test runner is such a Python: what is installed there already is the guard that tests look at.
    sys.modules[f"{__name__}.sitecustomize"] = _started
