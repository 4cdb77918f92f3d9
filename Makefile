# Everything runs in its own virtual environment, .venv, made on first use.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help demo test check unit docs fuzz clients clean
RUNS ?= 200000
SEED ?= 1
TORCH ?= torch

help:  ## this list
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

demo: .venv/installed  ## the main job on the bundled data; look into verite-demo/
	$(BIN)/verite demo verite-demo

test: check unit  ## lint, types and every test

check: .venv/developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror cpp/*/*.cpp cpp/*/*.hpp

unit: .venv/developing
	$(BIN)/pytest

docs: .venv/developing  ## the documentation, into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html

fuzz: .venv/developing build/fuzz/fuzz_json  ## hostile bytes for the JSON reader; RUNS=200000 SEED=1
	$(BIN)/python -m tests.json.corpus build/fuzz/corpus
	build/fuzz/fuzz_json $(RUNS) $(SEED) build/fuzz/corpus/*

clients: .venv/installed  ## torchmetrics, unchanged, on verite; a large download into an environment of its own
	test -x build/clients/bin/python || $(PYTHON) -m venv build/clients
	build/clients/bin/python -m pip install --quiet --disable-pip-version-check "$(TORCH)" torchmetrics pycocotools pytest .
	# Without its dependencies, so that torch stays the one that was asked for.
	build/clients/bin/python -m pip install --quiet --disable-pip-version-check --no-deps torchvision
	build/clients/bin/python -m pytest -rs -p no:cacheprovider -o addopts= tests/compat

clean:  ## forget the environment and everything built
	rm -rf .venv build docs/_build verite-demo

# Every read beyond a bound and every undefined operation ends the run.
build/fuzz/fuzz_json: tests/json/fuzz_json.cpp $(wildcard cpp/json/*) $(wildcard cpp/columns/*)
	mkdir -p build/fuzz
	$(CXX) -std=c++20 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -DVERITE_FUZZ_MAIN -Icpp -pthread \
	  $(filter %.cpp,$^) -o $@

# Reinstalled whenever the native code or the project file changes; Python files are used in place.
.venv/installed: pyproject.toml CMakeLists.txt $(wildcard cpp/*/*)
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	$(BIN)/python -m compileall -q src
	touch $@

.venv/developing: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	# A live oracle. Without its dependencies: one of them would replace the headless OpenCV.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps "lvis>=0.5.3"
	touch $@
