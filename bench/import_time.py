"""Milliseconds that `import fastclf` and its estimators take beyond `import numpy`: median of 15 fresh interpreters."""

import statistics
import subprocess
import sys

CODE = "import time, numpy; began = time.perf_counter(); {}; print(1e3 * (time.perf_counter() - began))"

for statement in ("import fastclf", "from fastclf import KNeighborsClassifier, cross_validate"):
    command = [sys.executable, "-P", "-c", CODE.format(statement)]
    times = [float(subprocess.run(command, capture_output=True, text=True, check=True).stdout) for _ in range(15)]
    print(f"{statement}: {statistics.median(times):.1f} ms ({min(times):.1f} to {max(times):.1f})")
