# `make demo` and `make test` set up all they need in .venv first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: install demo docs test lint pytest browser format lock clean

install: $(STAMP)

# Exact pins first, in two halves at once, then the package itself; nothing newer is looked for. Python compiles what is
# ever imported; to compile all of it here would take longer than to install it.
PIP := $(BIN)/python -m pip install --quiet --no-deps

$(STAMP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	awk 'NR % 2' requirements.lock > $(VENV)/odd.txt && awk 'NR % 2 == 0' requirements.lock > $(VENV)/even.txt
	$(PIP) --no-compile --requirement $(VENV)/odd.txt & odd=$$!; \
	$(PIP) --no-compile --requirement $(VENV)/even.txt && wait $$odd
	$(PIP) --no-build-isolation --editable .
	touch $@

demo: install
	$(BIN)/cuter demo

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Both at once: the linters use one core. Whichever fails, the other one is finished too, and the command fails.
test: install
	$(MAKE) --no-print-directory --jobs 2 lint pytest

pytest: install
	$(BIN)/python -m pytest -n 2 --dist loadgroup --durations=25

# The tests of pages look at them in a browser: it and its driver, from the system's packages, where they are missing.
browser:
	@if { command -v chromium || command -v chromium-browser || command -v google-chrome; } && command -v chromedriver; \
	then exit 0; \
	elif ! command -v apt-get > /dev/null; \
	then echo "no apt-get here: please install chromium and chromedriver yourself" >&2; exit 1; \
	elif [ "$$(id -u)" -ne 0 ]; \
	then echo "packages of the system are installed by root: sudo make browser" >&2; exit 1; \
	else apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium chromium-driver; \
	fi

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# The documentation site, into site/. It has an environment of its own: docstrings are read from the source, so neither
# torch nor the package is installed there. A warning is an error (`strict` in mkdocs.yml): dead links, missing anchors.
DOCS := .venv-docs

$(DOCS)/.installed: requirements-docs.lock
	test -x $(DOCS)/bin/python || $(PYTHON) -m venv $(DOCS)
	$(DOCS)/bin/python -m pip install --quiet --no-deps --requirement requirements-docs.lock
	touch $@

docs: $(DOCS)/.installed
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --strict
	@echo "To read it: $(DOCS)/bin/python -m http.server --directory site, then http://localhost:8000"

# Writes the versions of the present .venv as the new pins.
lock:
	$(BIN)/python -m pip freeze --all --exclude-editable --exclude pip --exclude cuter | sed 's/+cpu$$//' > requirements.lock

clean:
	rm -rf $(VENV) .venv-docs site build dist src/*.egg-info
