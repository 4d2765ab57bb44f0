# make demo   installs into .venv and runs the main job on examples/market, with no key
# make serve  installs the server too, and serves the control room with a finished and a waiting run of examples/market; PORT=N
# make test   installs all extras and the tools, lints, type-checks and runs the tests
# make test-services  runs the tests that need more than Python: a browser, a database server
# make test-postgres  runs the tests of the graph and the journeys with PostgreSQL where they name a file; EVERY=n: every n-th
# make pictures  takes a picture of every state of the control room and of each notebook, into build/pictures
# make campaign  runs all tests at more points, and measures what they reach; LENGTH=short: only what make test leaves out
# make answers  asks the offline model questions over folders of other packages, and fails below the recorded score
# make bench  measures Baton beside LangGraph alone; make bench-peers: beside other frameworks, and says so in the README
# make proof  sends the same requests through a plain DAG, a peer and Baton, with agents that fail, and says so in the README
# make clean  removes what they made

SHELL := /bin/sh
BIN := .venv/bin
DEMO := build/demo
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt

# The first interpreter that is new enough and can make a virtual environment; another one by `make PYTHON=...`.
USABLE := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
PYTHON := $(shell for p in python3.13 python3.12 python3.11 python3; do \
	if $$p -c '$(USABLE)' >/dev/null 2>&1; then echo $$p; break; fi; done)

# The demo thinks with the offline model, whatever is set outside.
KEYLESS := env -u OPENAI_API_KEY -u OPENAI_BASE_URL -u BATON_MODEL -u LANGSMITH_API_KEY -u LANGSMITH_TRACING

.DEFAULT_GOAL := help
.PHONY: help demo serve test lint types imports pytest test-services test-postgres pictures campaign answers bench bench-peers proof clean
.DELETE_ON_ERROR:

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile

demo: .venv/installed
	@mkdir -p $(DEMO)
	@$(KEYLESS) $(BIN)/baton run "$$(cat examples/market/question.txt)" \
		--sources examples/market/sources --oversight on_the_loop --model offline --db $(DEMO)/baton.db

serve: .venv/installed-server
	@test -n "$$BATON_DB" || test -f $(DEMO)/room.db || $(MAKE) --no-print-directory $(DEMO)/room.db
	@BATON_DB=$${BATON_DB:-$(DEMO)/room.db} $(BIN)/baton serve $(if $(PORT),--port $(PORT))

# Two runs of the market example to look at: one that has ended, one that asks, for a week.
$(DEMO)/room.db: | .venv/installed
	@mkdir -p $(DEMO)
	@$(KEYLESS) $(BIN)/baton run "$$(cat examples/market/question.txt)" --sources examples/market/sources \
		--oversight on_the_loop --model offline --thread market-finished --db $@.new >/dev/null 2>&1
	@echo 'approval_timeout_s: 604800' >$(DEMO)/patient.yaml
	@$(KEYLESS) BATON_POLICY=$(DEMO)/patient.yaml $(BIN)/baton run "$$(cat examples/market/question.txt)" --sources examples/market/sources \
		--oversight in_command --model offline --thread market-waiting --db $@.new --plan examples/market/plan.yaml \
		</dev/null >/dev/null 2>&1 || test $$? -eq 3
	@mv $@.new $@

# Types are checked while tests wait; what takes seconds comes before.
test: lint imports
	@$(MAKE) --no-print-directory --jobs=2 pytest types

lint: .venv/installed-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/bandit --quiet --recursive --configfile pyproject.toml graph nodes state

types: .venv/installed-dev
	@$(BIN)/mypy

imports: .venv/installed-dev
	@$(BIN)/lint-imports

pytest: .venv/installed-dev
	@$(PYTEST)

# Three workers for two cores: half of the suite waits for disks and processes. A file's tests share servers, so they stay together.
# Bytecode is kept: the tests start many processes, and each would compile Baton again.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

# 5: nothing is marked so.
test-services: .venv/installed-dev build/schemathesis/installed build/services/installed
	@$(PYTEST) -m services || { code=$$?; test $$code -eq 5 && echo "no test needs more than Python"; }
	@$(MAKE) --no-print-directory test-postgres EVERY=40

EVERY := 1
test-postgres: .venv/installed-dev
	@DATABASE=postgres EVERY=$(EVERY) $(PYTEST) tests/graph tests/journeys

# What it needs does not go with the versions that Baton's own tests need.
build/schemathesis/installed: tests/graph/web/schemathesis.txt | $(BIN)/python
	@$(BIN)/python -m venv build/schemathesis
	@build/schemathesis/bin/python -m pip install --quiet --disable-pip-version-check -r tests/graph/web/schemathesis.txt
	@touch $@

# Servers and clusters that Baton is tried with, which hold back what its own tests are run on; the rest is that of .venv.
build/services/installed: tests/servers/services.txt | .venv/installed-dev
	@$(BIN)/python -m venv build/services
	@$(BIN)/python -c "import sysconfig; print(f'import site; site.addsitedir({sysconfig.get_path(\"purelib\")!r})')" \
		> $$(build/services/bin/python -c "import sysconfig; print(sysconfig.get_path('purelib'))")/beside.pth
	@build/services/bin/python -m pip install --quiet --disable-pip-version-check -r tests/servers/services.txt
	@touch $@

pictures: .venv/installed-dev
	@test -f $(DEMO)/room.db || $(MAKE) --no-print-directory $(DEMO)/room.db
	@PYTHONPATH=. $(BIN)/python web/screenshots.py $(DEMO)/room.db build/pictures
	@$(BIN)/python notebooks/pictures.py build/pictures

answers: .venv/installed-dev
	@PYTHONPATH=. $(BIN)/python benchmarks/answers/measure.py --check $(if $(filter short,$(LENGTH)),--short)

bench: .venv/installed-dev
	@$(BIN)/python benchmarks/speed/compare.py
	@$(BIN)/python benchmarks/speed/own_costs.py
	@$(BIN)/python benchmarks/speed/tokens.py

proof: .venv/installed-dev
	@PYTHONPATH=. $(BIN)/python benchmarks/proof/run.py --write

bench-peers: .venv/installed-dev build/peers/installed build/crewai/installed
	@$(BIN)/python benchmarks/speed/compare.py --peers build

PEERS := benchmarks/speed/environments
build/%/installed: $(PEERS)/%/requirements.txt $(PEERS)/%/constraints.txt | $(BIN)/python
	@$(BIN)/python -m venv build/$*
	@build/$*/bin/python -m pip install --quiet --disable-pip-version-check -c $(PEERS)/$*/constraints.txt \
		-r $(PEERS)/$*/requirements.txt
	@touch $@

# Coverage doubles the time of a test, so it is measured here. One test may tell hundreds of stories: it may take long.
# The short form tells what `make test` leaves out, and nothing twice.
LENGTH := long
MORE := $(if $(filter short,$(LENGTH)),-m "campaign and not services",-m "not services" --cov --cov-report=term)
campaign: .venv/installed-dev
	@CAMPAIGN=$(LENGTH) $(PYTEST) $(MORE) -o faulthandler_timeout=3600

.venv/installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Baton into .venv (once; a minute or two)"
	@$(PIP) -e .
	@touch $@

.venv/installed-server: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Baton and LangGraph's server into .venv (once; a minute or two)"
	@$(PIP) -e '.[server]'
	@touch .venv/installed $@

.venv/installed-dev: pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Baton and its development tools into .venv (once; a minute or two)"
	@$(PIP) -e '.[dev]'
	@touch .venv/installed .venv/installed-server $@

$(BIN)/python:
	@test -n "$(PYTHON)" && $(PYTHON) -c '$(USABLE)' >/dev/null 2>&1 || { echo "Baton needs Python 3.11 or newer with its venv\
 package (Debian: python3-venv): install it, or name one: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PYTHON) -m venv .venv || { rm -rf .venv; exit 1; }

clean:
	@rm -rf .venv build dist .coverage .coverage.* .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .langgraph_api
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
