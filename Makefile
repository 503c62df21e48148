# `make run` opens the page, `make test` runs every test that needs no accelerator. Both set up what they need.
#   make run ARGS="--port 8000"     options of app.py (see `make run ARGS=--help`)
#   make run TORCH=cpu              PyTorch's CPU build instead of the default one, which on Linux brings CUDA (several GB)
#   make story-cards TEXT=stories.txt MODELS=runs/checkpoints    cards of the models there, under JUDGE=stories-ar
#   make run PYTHON=/path/python3   the interpreter to make .venv with (3.11 or newer)

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PY := .venv/bin/python
PIP := $(PY) -m pip --disable-pip-version-check
PYTHON ?=
ARGS ?=
TORCH ?=
CHROMIUM ?=
TEXT ?=
MODELS ?= checkpoints
JUDGE ?= stories-ar
STORY_CARD = --likelihood --text "$(TEXT)" --problems 256 --card
export GRADIO_ANALYTICS_ENABLED := False

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-20s %s\n", $$1, $$2 }' Makefile

# --- set-up: each stamp is redone only when the files it depends on change -------------------------------------

# Looked at each time; newer than the stamps only when the environment was made anew.
.venv/pyvenv.cfg: FORCE
	@PYTHON="$(PYTHON)" tools/venv.sh

.PHONY: FORCE
FORCE:

.venv/run.stamp: requirements.txt .venv/pyvenv.cfg
ifeq ($(TORCH),cpu)
	@echo "blockviz: installing PyTorch's CPU build"
	@$(PIP) install --quiet --index-url https://download.pytorch.org/whl/cpu "$$(grep '^torch==' requirements.txt)"
endif
	@echo "blockviz: installing requirements.txt (a few minutes the first time)"
	@$(PIP) install --quiet -r requirements.txt
	@touch $@

.venv/dev.stamp: requirements-dev.txt .venv/run.stamp
	@echo "blockviz: installing requirements-dev.txt"
	@$(PIP) install --quiet -r requirements-dev.txt
	@touch $@

# A path in a file, not a stamp: it is looked up each time, since a browser comes and goes with the system's packages.
.PHONY: browser
browser: .venv/dev.stamp
	@CHROMIUM="$(CHROMIUM)" tools/browser.sh > .venv/chromium

# --- verbs -----------------------------------------------------------------------------------------------------

.PHONY: run
run: .venv/run.stamp ## open the page (ARGS="--port 8000 --device cpu")
	@$(PY) app.py $(ARGS)

.PHONY: test
test: browser ## every test but those that need an accelerator
	@CHROMIUM="$$(tail -n 1 .venv/chromium)" $(PY) -m pytest -m "not gpu" $(ARGS)

.PHONY: test-fast
test-fast: .venv/dev.stamp ## the tests without a browser and without the slow ones (under 90 s)
	@$(PY) -m pytest $(ARGS)

.PHONY: test-gpu
test-gpu: .venv/dev.stamp ## the tests that need a CUDA device
	@$(PY) -m pytest -m gpu $(ARGS)

.PHONY: lint
lint: .venv/dev.stamp ## formatting, ruff's checks, types
	@$(PY) -m ruff format --check --quiet . || { echo "blockviz: run 'make format'"; exit 1; }
	@$(PY) -m ruff check --quiet .
	@$(PY) -m mypy

.PHONY: format
format: .venv/dev.stamp ## rewrite the formatting
	@$(PY) -m ruff format .
	@$(PY) -m ruff check --fix .

.PHONY: bench
bench: browser ## measure the ratios of the README's table, write bench/results.json and the table
	@CHROMIUM="$$(tail -n 1 .venv/chromium)" $(PY) -m bench $(ARGS)

.PHONY: train-math-base
train-math-base: .venv/run.stamp ## train what both bundled models start from (hours; first)
	$(PY) -m blockviz train math-base $(ARGS)

.PHONY: train-math-masked
train-math-masked: .venv/run.stamp ## train the bundled masked model (hours)
	$(PY) -m blockviz train math-masked $(ARGS)

.PHONY: train-math-uniform
train-math-uniform: .venv/run.stamp ## train the bundled uniform model (hours)
	$(PY) -m blockviz train math-uniform $(ARGS)

.PHONY: story-cards
story-cards: .venv/run.stamp ## measure the models of stories and write their cards (TEXT=stories.txt; half an hour)
	@test -n "$(TEXT)" || { echo "blockviz: name the text they were trained on: make story-cards TEXT=stories.txt"; exit 2; }
	$(PY) -m blockviz evaluate $(JUDGE) --folder $(MODELS) $(STORY_CARD) $(ARGS)
	$(PY) -m blockviz evaluate stories-masked --folder $(MODELS) $(STORY_CARD) --judge $(JUDGE) $(ARGS)
	$(PY) -m blockviz evaluate stories-uniform --folder $(MODELS) $(STORY_CARD) --judge $(JUDGE) $(ARGS)

.PHONY: readme
readme: .venv/run.stamp ## rewrite the README's tables of settings, models and benchmark
	@$(PY) -m bench readme
