#!/usr/bin/env bash
# The kernels' tests and the fuzzer on the builds of `make sanitize`, whose first finding ends a process with an error.
#
# PYTHON is an interpreter with the packages of the tests, MINUTES how long the fuzzer runs, TESTS the folders of tests.
set -euo pipefail
cd "$(dirname "$0")/.."
checkout=$PWD
PYTHON=${PYTHON:-python3}
tests=${TESTS:-tests/kernels tests/tree tests/svm tests/neighbors tests/linear_model tests/naive_bayes tests/sums}
mkdir -p build/away-sanitize
cd build/away-sanitize

built() { (ls -d "$checkout"/build/"$1"-native/lib*); }
library() { gcc -print-file-name="lib$1.so"; }

# Leaks are not reported, because NumPy and Python do not free everything when they exit.
export ASAN_OPTIONS=detect_leaks=0:halt_on_error=1:allocator_may_return_null=1:handle_segv=1
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1:report_signal_unsafe=0:ignore_noninstrumented_modules=1:history_size=7
export OPENBLAS_NUM_THREADS=1

with_address() {
    PYTHONPATH=$(built address-undefined) LD_PRELOAD="$(library asan) $(library ubsan)" "$@"
}

# Tests of Ctrl-C measure how fast a process ends, which takes long under a sanitizer. Without -s, pytest would keep a
# sanitizer's report, and lose it when the report ends the process.
with_address "$PYTHON" -m pytest $(printf "$checkout/%s " $tests) -p no:cacheprovider -q -s \
    -m "not build and not once" -W ignore -k "not ctrl_c"
with_address "$PYTHON" "$checkout/tests/fuzz.py" --minutes "${MINUTES:-1}"
PYTHONPATH=$(built thread) LD_PRELOAD=$(library tsan) "$PYTHON" "$checkout/tests/two_threads.py" --seconds 1 --no-check
