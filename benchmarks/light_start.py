"""How long the command line takes to start, beside what it is made of: `python benchmarks/light_start.py [FOLDER]`.

Prints, in milliseconds, the fastest of seven starts of each command line (a busy machine makes all of them slower, the
fastest least), and how many times `import typer, rich` that is. FOLDER is another checkout, for a comparison.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

STARTS = 7
YARDSTICK = "import typer, rich"


def fastest_ms(root: Path, *words: str) -> float:
    """Milliseconds that `python WORDS` takes in an empty folder, with `root` to import from."""
    taken = []
    with tempfile.TemporaryDirectory() as empty:
        for _ in range(STARTS):
            start = time.perf_counter()
            subprocess.run(
                [sys.executable, *words], cwd=empty, env={"PYTHONPATH": str(root)}, capture_output=True, check=False
            )
            taken.append(time.perf_counter() - start)
    return min(taken) * 1000


def main() -> None:
    """Print the figures."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
    yardstick = fastest_ms(root, "-c", YARDSTICK)
    print(f"{YARDSTICK:24}{yardstick:8.0f} ms")
    for line in ("--help", "--version", "status --help", "runs --db none.db", "run --help"):
        words = ["-c", "import sys; from graph.cli import main; sys.exit(main())", *line.split()]
        taken = fastest_ms(root, *words)
        print(f"{'baton ' + line:24}{taken:8.0f} ms{taken / yardstick:8.1f} x")


if __name__ == "__main__":
    main()
