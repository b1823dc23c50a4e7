# make run     start a server on https://127.0.0.1:6443 with its data in .polykind
# make test    run the linters, then all tests except the longest ones on etcd (make test-etcd)
VENV := .venv
BIN := $(VENV)/bin
# The interpreter of the virtual environment. If empty, tools/create_environment chooses one.
PYTHON ?=
WORKERS ?= 2
TOOLS := .tools
export PATH := $(PATH):$(CURDIR)/$(TOOLS)/bin

.PHONY: run console console-scrolling screenshots test test-etcd lint format conformance floors torture prove-bugs bench docs reference recording package binary clean
.DELETE_ON_ERROR:

run: $(VENV)/.installed console
	$(BIN)/polykind serve --data-dir .polykind

# Build the web application that the server serves at /console/. Without npm or its registry, the server works without it.
CONSOLE := src/polykind/console/built
console:
	@if ! command -v npm > /dev/null; then echo "npm is not installed, so the console is not built. The server works without it."; \
	elif $(MAKE) --no-print-directory console/node_modules/.installed; then $(MAKE) --no-print-directory $(CONSOLE)/.complete; \
	else echo "npm cannot install the console's dependencies, so it is not built. The server works without it."; fi

$(CONSOLE)/.complete: console/node_modules/.installed $(shell find console/src console/index.html console/*.ts console/*.json) \
		src/polykind/toolkit/reporting/design.css
	cd console && npm run --silent build
	touch $@

console/node_modules/.installed: console/package-lock.json
	cd console && npm install --silent --no-save --no-audit --no-fund
	touch $@

# Take the pictures of the console in docs/images.
screenshots: $(VENV)/.test $(TOOLS)/chromium.ready console
	$(BIN)/python -m tests.console.screenshots $(ARGS)

# Scroll through 100,000 objects in a browser, and print how long it takes.
console-scrolling: $(VENV)/.test $(TOOLS)/chromium.ready console
	POLYKIND_CONSOLE_OBJECTS=100000 $(BIN)/pytest -q -s -n0 tests/console/test_objects.py -k scrolled

# The pure packages. Their tests measure coverage; all other tests run at full speed, because some check timing.
PURE := tests/apply tests/cel tests/codec tests/crd tests/golang tests/schema tests/selectors

test: lint console $(TOOLS)/kubectl.ready $(TOOLS)/chromium.ready
	@echo "The tests usually take about seven minutes on two cores, the first run two more to install."
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal -m "not etcd" $(PURE:%=--ignore=%) $(ARGS)
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal $(PURE) --cov --cov-report=term:skip-covered $(ARGS)

# Everything on etcd: the store, replicas, faults, and all conformance scenarios.
test-etcd: $(VENV)/.test $(TOOLS)/kubectl.ready
	$(BIN)/pytest -q -n $(WORKERS) --dist worksteal tests/store tests/replicas $(ARGS)

lint: $(VENV)/.test
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.test
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

# make conformance AREA=watch    one area, or one scenario: AREA=list/pages; AREA=--http2 replays all over HTTP/2
conformance: $(VENV)/.test
	$(BIN)/python -m tests.conformance -v $(AREA)

floors: $(VENV)/.test
	$(BIN)/python -m tests.conformance.floors

# Kills, faults and long histories in all environments, and a table of what clients did and saw. Takes about an hour;
# less with ARGS="--kills 40 --faults 20 --minutes 3". Then all attacks, and the property tests with new examples: `make test` always draws the same ones.
torture: $(VENV)/.test
	$(BIN)/python -m tests.histories.torture $(ARGS)
	POLYKIND_ATTACK_ROUNDS=5 $(BIN)/pytest -q -s tests/robustness/test_attacks.py
	$(BIN)/pytest -q -n $(WORKERS) -m hypothesis --hypothesis-profile=explore --timeout 1800

# Test all converters with seeded bugs, and the correct ones with ten times the budget. Takes about an hour.
prove-bugs: $(VENV)/.test
	$(BIN)/python -m tests.toolkit.proving.bugs --seconds 10 --correct 100 $(ARGS)

bench: $(VENV)/.test $(TOOLS)/wrk.ready
	$(BIN)/python -m benches $(ARGS)

# Build the documentation site into build/site. Broken links are errors.
docs: $(VENV)/.test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "To read it: python3 -m http.server --bind 127.0.0.1 --directory build/site 8000"

# Write the tables, figures and badges of the documentation that follow from code and measurements.
reference: $(VENV)/.test
	$(BIN)/python tools/reference_tables.py
	$(BIN)/python tools/badges.py

# Record the terminal picture of the README: polykind prove finds a loss.
recording: $(VENV)/.test
	$(BIN)/python tools/record_terminal.py

# Build the wheel and the source archive, install each into an empty environment, and start a server from it.
package: $(VENV)/.installed console
	$(BIN)/python -m pip install -q build
	rm -rf dist/*.whl dist/*.tar.gz
	$(BIN)/python -m build --outdir dist > /dev/null
	$(BIN)/python tools/smoke_test dist/*.whl dist/*.tar.gz

# Build dist/polykind, an executable that needs no Python, and print its start time.
binary: $(VENV)/.installed
	$(BIN)/python -m pip install -q pyinstaller
	$(BIN)/pyinstaller --log-level ERROR --noconfirm --onefile --name polykind --collect-submodules polykind --collect-data polykind \
		--exclude-module pytest --exclude-module hypothesis --distpath dist --workpath build/binary \
		--specpath build/binary src/polykind/launchers/by_name.py
	$(BIN)/python tools/smoke_test dist/polykind

clean:
	rm -rf $(VENV) $(TOOLS) .polykind build dist $(CONSOLE) console/node_modules

$(VENV)/.installed: pyproject.toml
	test -x $(BIN)/python || python3 tools/create_environment $(VENV) $(PYTHON)
	$(BIN)/python -m pip install -q --upgrade pip
	$(BIN)/python -m pip install -q -e .
	$(BIN)/python -m compileall -q src
	touch $@

$(VENV)/.test: $(VENV)/.installed
	$(BIN)/python -m pip install -q --group test --group lint --group docs
	touch $@

$(TOOLS)/kubectl.ready:
	tools/ensure kubectl kubernetes-client
	touch $@

# A browser that opens the HTML reports in tests. Any Chromium on the PATH will do.
$(TOOLS)/chromium.ready:
	mkdir -p $(TOOLS)
	command -v google-chrome > /dev/null || command -v chromium > /dev/null || \
		tools/ensure --dependencies chromium-headless-shell chromium-headless-shell
	touch $@

$(TOOLS)/wrk.ready:
	tools/ensure wrk wrk libluajit-5.1-2 libluajit-5.1-common
	touch $@
