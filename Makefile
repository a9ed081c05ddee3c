# Everything is set up by these targets; they need python3 and the package registry.

PYTHON ?= python3
# A second interpreter for the tests, where one runs.
NEXT := $(shell for p in python3.13 "$$(pyenv prefix 3.13 2>/dev/null)/bin/python3.13" python3.12; do \
	"$$p" -c 'import venv, ensurepip' >/dev/null 2>&1 && { echo "$$p"; break; }; done)
BIN := .venv/bin
NEXT_BIN := .venv-next/bin
# More than cores: many tests wait for processes.
WORKERS ?= 3
# Tests of one module stay together, so that what they share is set up once.
PARALLEL = -n $(WORKERS) --dist worksteal

.PHONY: setup both run test test-next lint bench bench-short chaos clean lock browser

setup: .venv/installed

.venv/installed: requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 …")'
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@echo "Installing the pinned dependencies into .venv …"; $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

.venv-next/installed: requirements.lock
	@test -x $(NEXT_BIN)/python || $(NEXT) -m venv .venv-next
	@echo "Installing them into .venv-next for $(NEXT) …"; $(NEXT_BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

# Both virtual environments at once.
both:
	@$(MAKE) --no-print-directory -j2 .venv/installed $(if $(NEXT),.venv-next/installed)

# The main job and the site, on an embedded PostgreSQL unless DATABASE_URL is set.
run: setup
	@exec $(BIN)/python manage.py quickstart

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy
	$(BIN)/python manage.py check --fail-level WARNING
	$(BIN)/python manage.py makemigrations --check --dry-run

test: both browser lint
	$(BIN)/python -m pytest $(PARALLEL) -q
ifneq ($(NEXT),)
	$(MAKE) test-next
endif

# The newer Python and Django: all but the tests of processes, pages in a browser and plans,
# which `make test-next MARKS=` adds.
MARKS ?= not crash and not browser and not plans and not stores
test-next: .venv-next/installed browser
	$(NEXT_BIN)/python -m pytest $(PARALLEL) -q -m "$(MARKS)"

# Figures beside their limits of the same run; writes bench.json. See docs/benchmarks.md.
bench: setup
	$(BIN)/python -m tests.bench

# All of it with fewer rows, in about two minutes: does it still run, not how fast.
bench-short: setup
	$(BIN)/python -m tests.bench --short

# The long forms of the tests that have one: workers killed, stopped and frozen, big tables, the
# daylight-saving year, new random examples. About an hour; each test has a limit of its own.
chaos: setup browser
	ENGINEROOM_FULL=1 $(BIN)/python -m pytest -q --timeout 600 tests/crash tests/properties \
	  tests/jobs/test_cadence_daylight_saving.py tests/jobs/objectstore tests/deletions \
	  tests/realtime tests/retention

# The pages are tested in a real browser: Debian's Chromium where there is none.
browser:
	@command -v chromium chromium-browser google-chrome >/dev/null || { \
	  test "$$(id -u)" = 0 && command -v apt-get >/dev/null && \
	  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends chromium >/dev/null; } || \
	  echo "No Chromium: the tests of pages need one (apt-get install chromium)."; }

lock: setup
	$(BIN)/uv pip compile pyproject.toml --extra dev --universal --python-version 3.11 \
	  --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header \
	  --upgrade -o requirements.lock

clean:
	-test -x $(BIN)/python && $(BIN)/python manage.py postgres stop
	rm -rf .venv .venv-next dist var static test-artifacts
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
