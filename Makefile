# `make demo` and `make test` set up all they need in .venv first.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: install demo test lint format lock clean

install: $(STAMP)

# Exact pins first, then the package itself without looking for anything newer.
$(STAMP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

demo: install
	$(BIN)/cuter demo

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -n 2

format: install
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Writes the versions of the present .venv as the new pins.
lock:
	$(BIN)/python -m pip freeze --all --exclude-editable --exclude pip --exclude cuter | sed 's/+cpu$$//' > requirements.lock

clean:
	rm -rf $(VENV) build dist src/*.egg-info
