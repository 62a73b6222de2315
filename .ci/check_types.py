"""mypy --strict and pyright on calls of the public names: python .ci/check_types.py

The checkers must report nothing in tests/right_calls.py, and exactly the lines of tests/wrong_calls.py that say
"wrong".
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RIGHT, WRONG = (ROOT / "tests" / f"{name}_calls.py" for name in ("right", "wrong"))


def reported(*command):
    """({(file, line)} of the errors that a checker reports, the checker's whole output)."""
    told = subprocess.run(command, cwd=ROOT, env=os.environ | {"MYPYPATH": str(ROOT)}, capture_output=True, text=True)
    text = told.stdout + told.stderr
    return {
        (Path(name).name, int(line)) for name, line in re.findall(r"([\w./-]+\.pyi?):(\d+)[:\d]* ?[-:] error", text)
    }, text


def main():
    expected = {(WRONG.name, i) for i, line in enumerate(WRONG.read_text().splitlines(), 1) if "# wrong" in line}
    failed = False
    for name, options in [("mypy", ["--strict"]), ("pyright", ["--pythonpath", sys.executable])]:
        found, text = reported(sys.executable, "-m", name, *options, str(RIGHT), str(WRONG))
        missed, more = sorted(expected - found), sorted(found - expected)
        if missed or more:
            failed = True
            print(f"{name}: not reported: {missed}; reported, but right: {more}")
            print(
                "\n".join(line for line in text.splitlines() if any(f"{file}:{line_}:" in line for file, line_ in more))
            )
            if not found:
                print(text)
        else:
            print(f"{name}: {len(found)} wrong calls are reported, and nothing else")
    return failed


if __name__ == "__main__":
    sys.exit(main())
