# make demo   every method on real data, from a fresh clone
# make test   every test, on the installed package, at every SIMD level and in the debug build
# make check  every test at the best SIMD level only; ROOM=svm runs only the tests of that room
# make adult  the published errors on the Adult data beside ours
# make fuzz   random use, forged files and mangled tables for MINUTES=1, until something breaks
# make interrupts  how long Ctrl-C waits in every public method, at sizes at which it takes seconds; CASES="SVC roc" picks
# make sanitize  the kernels' tests and the fuzzer for MINUTES=1 on a build with the address sanitizer and that of undefined
#             behaviour, then a model shared by threads under the thread sanitizer; long: for the night
# make two-threads  one thread fits an estimator while another predicts with it, SECONDS=60 for each class
# make packages  the tests of packages that build on scikit-learn, with its names replaced; needs the network, and an hour
# make sweep  every estimator against scikit-learn's on shapes that SEED=7 draws; build/sweep.html shows it
# make figures  keeps what make bench, make compare and make sweep have measured, for the benchmarks' pages of every copy of the site
# make docs   the documentation as a site, in build/docs; docs-check fails on any defect of the site, docs-look
#             photographs every page with Chromium into build/docs-look
# make wheel  the wheel of this Python in build/wheels, manylinux on Linux, within its limits of size
# make test-wheel  installs that wheel where there is neither compiler nor source, and runs the kernels' tests there
# make release VERSION=0.2.0  builds, tests and checks a release in build/release-0.2.0, then changes version and
#             CHANGELOG here and prints the steps that need a person's key; DRY=1 changes nothing here
# make test-oldest  the kernels' tests with the oldest NumPy, Cython and setuptools that pyproject.toml allows
# make test-arm64  builds for arm64 by a cross-compiler, and runs the kernels' tests under an emulator, which takes hours
# make lint, make bench, make bench-check, make compare, make plot, make clean
#
# PYTHON=python3.13 picks the interpreter; each has its own environment below .venv/.
# FASTCLF_LEVELS=native builds only the kernels that this machine uses: make check FASTCLF_LEVELS=native ROOM=svm

PYTHON ?= python3
# A pyenv shim works only for the versions that are activated; the interpreter behind the shim always works.
INTERPRETER := $(shell $(PYTHON) -c 'import sys; print(sys.executable)' 2>/dev/null \
    || ls -d $${PYENV_ROOT:-$$HOME/.pyenv}/versions/*/bin/$(PYTHON) 2>/dev/null | tail -n 1)
ifeq ($(INTERPRETER),)
    $(error $(PYTHON) is not an interpreter of this machine; Python 3.11 or newer is wanted: make PYTHON=...)
endif
PYTHON_VERSION := $(shell $(INTERPRETER) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
# Names of targets are relative, as the folder's own name may have spaces; commands that leave the folder take THERE_BIN.
VENV := .venv/$(PYTHON_VERSION)
BIN := $(VENV)/bin
THERE_BIN = "$(abspath $(BIN))"
PIP := $(BIN)/pip --disable-pip-version-check --quiet
SOURCES := $(shell find setup.py pyproject.toml fastclf src_cython -type f -not -name '*.pyc')
export FASTCLF_LEVELS

# Tests run from a folder where the package's source is not importable.
ROOM ?=
MINUTES ?= 1
AWAY := build/away-$(PYTHON_VERSION)
KERNEL_ROOMS := test_golden.py test_simd.py test_validation.py test_estimator.py kernels linear_model naive_bayes neighbors sums svm tree
# A test of 15 minutes hangs, and ends the run. So does a crash: where pytest-xdist replaces a worker with --dist loadfile,
# it waits for ever (3.8).
PYTEST = mkdir -p $(AWAY) && cd $(AWAY) && $(THERE_BIN)/pytest "$(CURDIR)"/tests/$(ROOM) -p no:cacheprovider -n auto --dist loadfile --no-loadscope-reorder \
    --max-worker-restart=0 -o faulthandler_timeout=900 -o faulthandler_exit_on_timeout=true
SPHINX = $(BIN)/python -P -m sphinx -q -E -b html -d build/docs-pages docs build/docs
DEBUG_SITE := build/debug/site-$(PYTHON_VERSION)

.PHONY: demo adult test check test-levels test-debug fuzz sanitize two-threads interrupts packages lint bench bench-check sweep compare figures plot docs docs-check docs-look wheel test-wheel release test-oldest test-arm64 clean always

# -P makes Python import the installed package, not the unbuilt source in this folder.
demo: $(VENV)/.demo $(VENV)/.installed
	$(BIN)/python -P -m fastclf demo

adult: $(VENV)/.made $(VENV)/.installed
	$(BIN)/python bench/adult.py

test: check test-levels test-debug

check: $(VENV)/.test $(VENV)/.installed
	$(PYTEST) $(if $(ROOM),-m "not build")

test-levels: $(VENV)/.test $(VENV)/.installed
	levels=$$($(BIN)/python -P -c 'from fastclf import _simd; print(*_simd.available()[:-1])') || exit 1; \
	for level in $$levels; do \
	    echo "SIMD level $$level"; (export FASTCLF_SIMD=$$level; $(PYTEST) -m "levels and not once") || exit 1; \
	done

test-debug: $(VENV)/.test $(DEBUG_SITE)/.installed
	echo "debug build"; export PYTHONPATH="$(abspath $(DEBUG_SITE))" MALLOC_PERTURB_=171; $(PYTEST) -m "not build and not once"

fuzz: $(VENV)/.test $(VENV)/.installed
	mkdir -p $(AWAY) && cd $(AWAY) && $(THERE_BIN)/python "$(CURDIR)"/tests/fuzz.py --minutes $(MINUTES) $(if $(FIRST),--first $(FIRST)) $(if $(CASES),--cases $(CASES))

# GCC's sanitizers have to be loaded before Python; they do not report leaks, because Python itself leaks.
sanitize: $(VENV)/.test
	for kind in address,undefined thread; do \
	    FASTCLF_SANITIZE=$$kind FASTCLF_LEVELS=native $(BIN)/python setup.py --quiet build || exit 1; \
	done
	PYTHON=$(THERE_BIN)/python MINUTES=$(MINUTES) tests/sanitize.sh

two-threads: $(VENV)/.test $(VENV)/.installed
	mkdir -p $(AWAY) && cd $(AWAY) && $(THERE_BIN)/python "$(CURDIR)"/tests/two_threads.py --seconds $(or $(SECONDS),60)

interrupts: $(VENV)/.test $(VENV)/.installed
	mkdir -p $(AWAY) && cd $(AWAY) && $(THERE_BIN)/python "$(CURDIR)"/tests/interrupts.py $(CASES)

# The packages have an environment of their own, as they want releases of their own.
packages:
	mkdir -p build/packages
	$(INTERPRETER) -m venv build/packages/environment
	build/packages/environment/bin/pip install --quiet 'scikit-learn==1.9.*' pytest .
	$(INTERPRETER) tests/packages.py --needs | xargs -n 1 build/packages/environment/bin/pip install --quiet
	$(INTERPRETER) tests/packages.py --python build/packages/environment/bin/python

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH=$(BIN):$$PATH cython-lint src_cython fastclf
	$(BIN)/python .ci/rooms.py
	$(BIN)/python .ci/sizes.py
	$(BIN)/python .ci/check_types.py

bench: $(VENV)/.bench $(VENV)/.installed
	$(BIN)/python bench/run.py

bench-check: $(VENV)/.bench $(VENV)/.installed
	$(BIN)/python bench/run.py --check

sweep: $(VENV)/.compare $(VENV)/.installed
	$(BIN)/python bench/sweep.py --page build/sweep.html --json build/sweep.json $(if $(SEED),--seed $(SEED))

compare: $(VENV)/.compare $(VENV)/.installed
	mkdir -p build && $(BIN)/python bench/peers.py --json build/compare.json $(if $(RESUME),--resume)

figures: $(VENV)/.made
	$(BIN)/python docs/written_pages.py

plot: $(VENV)/.bench $(VENV)/.installed
	$(BIN)/python bench/filter_plot.py

docs: $(VENV)/.docs $(VENV)/.installed
	$(SPHINX)

# -W makes a warning, or an example that fails, an error; docs/check.py checks what Sphinx does not.
docs-check: $(VENV)/.docs $(VENV)/.installed
	rm -rf build/docs
	$(SPHINX) -W --keep-going
	$(BIN)/python -P docs/check.py build/docs

docs-look: docs
	$(BIN)/python docs/look.py build/docs build/docs-look

# The wheel has the same bytes at every build of the same commit.
wheel: export SOURCE_DATE_EPOCH = $(shell git log -1 --format=%ct)
WHEELS := build/wheels/$(PYTHON_VERSION)

wheel: $(VENV)/.dist
	rm -f $(WHEELS)/*.whl
	$(BIN)/python .ci/wheel.py build $(WHEELS)

test-wheel:
	test -f $(WHEELS)/*.whl || $(MAKE) wheel
	$(BIN)/python .ci/wheel.py try $(WHEELS)/*.whl build/bare-$(PYTHON_VERSION) $(if $(ROOM),tests/$(ROOM))

# PYTHONS are the interpreters for which wheels are built; TESTS is what make runs before anything is changed here.
release: $(VENV)/.dist
	$(BIN)/python .ci/release.py $(VERSION) $(if $(DRY),--dry) $(if $(PYTHONS),--pythons $(PYTHONS)) $(if $(TESTS),--tests "$(TESTS)")

# The native level is enough: the oldest versions change how C is made, not what the kernels compute.
OLDEST := build/oldest
test-oldest:
	rm -rf $(OLDEST)
	$(INTERPRETER) -m venv $(OLDEST)
	$(OLDEST)/bin/pip install --disable-pip-version-check --quiet numpy==2.0.0 cython==3.1.0 setuptools==77.0.1 wheel pytest \
	    pytest-xdist hypothesis scipy scikit-learn pandas polars pyarrow
	git clone --quiet --depth=1 "file://$(CURDIR)" $(OLDEST)/tree
	FASTCLF_LEVELS=native $(OLDEST)/bin/pip install --no-build-isolation --no-deps ./$(OLDEST)/tree
	cd $(OLDEST) && FASTCLF_DATA="$${FASTCLF_DATA:-$(CURDIR)/../shared/data}" bin/pytest $(addprefix tree/tests/,$(or $(ROOM),$(KERNEL_ROOMS))) \
	    -p no:cacheprovider -q -n auto --dist loadfile -m "not build and not once"

test-arm64: $(VENV)/.dist
	$(BIN)/python .ci/arm64.py $(if $(ROOM),$(ROOM))

clean:
	rm -rf build .venv *.egg-info docs/gallery docs/reference/names docs/reference/backreferences

$(VENV)/.made:
	$(INTERPRETER) -m venv $(VENV)
	$(PIP) install --upgrade pip 'setuptools>=77' 'cython>=3.1' wheel 'numpy>=2'
	touch $@

# A change of FASTCLF_LEVELS installs the package again.
$(VENV)/.levels: $(VENV)/.made always
	@echo '$(FASTCLF_LEVELS)' | cmp -s - $@ || echo '$(FASTCLF_LEVELS)' > $@

$(VENV)/.installed: $(VENV)/.made $(VENV)/.levels $(SOURCES)
	$(PIP) install --no-build-isolation --no-deps --force-reinstall .
	touch $@

# The debug build has only the best level, because its checks are the same at every level.
$(DEBUG_SITE)/.installed: $(VENV)/.made $(SOURCES)
	FASTCLF_DEBUG=1 FASTCLF_LEVELS=native $(PIP) install --no-build-isolation --no-deps --upgrade --target $(DEBUG_SITE) .
	touch $@

# The packages of a dependency group of pyproject.toml.
$(VENV)/.demo $(VENV)/.test $(VENV)/.lint $(VENV)/.bench $(VENV)/.compare $(VENV)/.docs $(VENV)/.dist: $(VENV)/.%: $(VENV)/.made pyproject.toml
	$(PIP) install --group $*
	touch $@
