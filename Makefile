# Starloom. Needs Python >= 3.11 with venv and pip; `make help` lists what there is.
PYTHON ?= python3
HERE   := .venv/bin/python
HOME_DIR ?= .starloom

.DEFAULT_GOAL := help
.PHONY: help run dev environment environment-dev test check gen demo-check

help: ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16
	@echo "Options of run: PORT=8471 ONCE=1 (end with the sample's result) DEMO=0 (without sample) DEMO_FAULT=0"

run: ## start everything and carry out the sample; Ctrl-C stops it
	@$(PYTHON) scripts/environment.py --page
	@PORT='$(PORT)' ONCE='$(ONCE)' DEMO='$(DEMO)' DEMO_FAULT='$(DEMO_FAULT)' exec $(PYTHON) scripts/run.py $(HOME_DIR)

test: ## everything CI runs; installs what it needs
	@$(PYTHON) scripts/environment.py --dev --page
	@exec $(HERE) scripts/verify.py all

check: environment-dev ## format, lint, types, layers
	@exec $(HERE) scripts/verify.py check

gen: environment-dev ## write the generated files anew
	@$(HERE) -m starloom_protocol.export
	@$(HERE) -m starloom_protocol.error_pages

demo-check: environment-dev ## the sample in a temporary home, asserted
	@exec $(HERE) -m starloom.lab.demo_check

dev: environment-dev ## the service without the sample, with lab tools
	@PORT='$(PORT)' DEMO=0 LAB=1 exec $(PYTHON) scripts/run.py $(HOME_DIR)

environment-dev:
	@$(PYTHON) scripts/environment.py --dev

environment:
	@$(PYTHON) scripts/environment.py
