# One way to do each thing, the same by hand and in CI.
PYTHON ?= python3
BIN := .venv/bin
PY := $(BIN)/python
NOTEBOOKS := $(wildcard notebooks/*.ipynb)

.DEFAULT_GOAL := help
.PHONY: help setup format check test notebooks docs build model demo lab ci

help:       ## list these targets
	@sed -n 's/^\([a-z]*\):[^#]*## */\1\t/p' Makefile | expand -t 12

setup: .venv/.stamp  ## make .venv with the package (editable), all extras and all groups

.venv/.stamp: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PY) -m pip install --quiet --upgrade "pip>=25.1"
	$(PY) -m pip install --quiet --editable ".[all]" --group test --group lint --group docs
	@touch $@

format: setup  ## format code and notebooks, mend what can be mended
	$(BIN)/ruff check --fix --quiet . ; $(BIN)/ruff format .
	$(if $(NOTEBOOKS),$(BIN)/nbstripout $(NOTEBOOKS))

check: setup  ## lint, types, layers, docstrings, no output in notebooks
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy && $(BIN)/lint-imports
	$(BIN)/numpydoc lint $$(find notebook_agents -name '*.py')
	$(if $(NOTEBOOKS),$(BIN)/nbstripout --verify $(NOTEBOOKS))

test: setup  ## run the whole suite; faster: make test ARGS='-m "not notebook and not browser"'
	$(PY) -m pytest $(ARGS)

notebooks: setup  ## execute the notebooks only
	$(PY) -m pytest -m notebook $(ARGS)

docs: model  ## build the pages into docs/_build/html; a warning is an error
	$(BIN)/sphinx-build --quiet -W --keep-going -b html docs docs/_build/html

build: setup  ## build the wheel, install it elsewhere, use it with no extra
	rm -rf dist && $(PY) -m pip wheel --quiet --no-deps --wheel-dir dist .
	$(PY) .ci/check_wheel.py dist/*.whl

model: setup  ## fetch the weights of the embedded model, once
	$(PY) -m notebook_agents.cli.main models pull

demo: model  ## an agent in a real kernel, on the embedded model, in this terminal
	$(PY) -m notebook_agents.cli.main demo

lab: model  ## open the notebooks in JupyterLab; as root: make lab ARGS=--allow-root
	$(BIN)/jupyter lab notebooks $(ARGS)

ci: check test docs build  ## everything that has to pass
