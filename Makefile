# Every command a person or CI needs. The environment is made once, from the lock file, and made again when that changes.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
DATA ?=
TEST ?=
ROWS ?=
TIMES ?=

.DEFAULT_GOAL := help
.PHONY: help env demo up down status test test-slow test-browser bench-learning lint types imports schemas lock clean

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

env: $(READY)  ## the Python environment, from requirements.lock

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -c 'import sys; v = sys.version_info[:2]; v == (3, 11) or sys.exit(f"EasyLoop needs Python 3.11, this is {v[0]}.{v[1]}; run make with PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(READY)  ## the whole way on real photographs; DATA=train.zip TEST=test.zip for your own
	@$(BIN)/python -m infra.demo $(if $(DATA),--data "$(DATA)") $(if $(TEST),--test "$(TEST)")

up: $(READY)  ## start the platform on this machine
	@$(BIN)/python -m infra.local up

down: $(READY)  ## stop it; the data stays
	@$(BIN)/python -m infra.local down

status: $(READY)  ## what runs, since when, with how much memory
	@$(BIN)/python -m infra.local status

test: $(READY) lint types imports  ## everything that must hold, at most 15 minutes
	$(BIN)/python -m pytest -m "not slow" tests

test-slow: $(READY)  ## what takes longer
	$(BIN)/python -m pytest -m slow tests

test-browser: $(READY)  ## the console in a browser, part of test-slow; needs Chromium
	$(BIN)/python -m pytest -rs -m slow tests/browser

bench-learning: $(READY)  ## accuracy and time of whole runs; DATA=folder [ROWS="steel6-fast ..."] [TIMES=3]
	@$(BIN)/python benchmarks/learning.py --data "$(DATA)" $(if $(ROWS),--rows $(ROWS)) $(if $(TIMES),--times $(TIMES))

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

schemas: $(READY)  ## write the JSON Schemas and the AsyncAPI document; refuses a breaking change
	$(BIN)/python -m schemas.generate
	$(BIN)/python -m chassis.asyncapi

lock: $(READY)  ## resolve both lock files anew: versions and hashes, no addresses
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --all-extras --generate-hashes --no-emit-index-url --no-header --no-annotate --prerelease if-necessary --upgrade --output-file requirements.lock
	$(BIN)/uv pip compile pyproject.toml --constraint requirements.lock --generate-hashes --no-emit-index-url --no-header --no-annotate --prerelease if-necessary --upgrade --output-file infra/docker/requirements.lock

clean:  ## forget the environment and the caches; the data of .easyloop stays
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
