# Starloom. Needs Python >= 3.11 with venv and pip; `make help` lists what there is.
PYTHON ?= python3
HERE   := .venv/bin/python
HOME_DIR ?= $(or $(STARLOOM_HOME),.starloom)

.DEFAULT_GOAL := help
.PHONY: help run dev environment environment-dev quick test proof short check gen sim chaos e2e bench guard seeded-bugs soak demo-check explore words fair-share walk bench-ui bench-scale storm wheels shape placement-bench forecasts-bench

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16
	@echo "Options of run: PORT=8471 ONCE=1 (end with the sample's result) DEMO=0 (without sample) AGAIN=1 (the sample once more) DEMO_FAULT=0"

run: ## start everything and carry out the sample; Ctrl-C stops it
	@$(PYTHON) scripts/environment.py --page
	@PORT='$(PORT)' ONCE='$(ONCE)' DEMO='$(DEMO)' AGAIN='$(AGAIN)' DEMO_FAULT='$(DEMO_FAULT)' exec $(PYTHON) scripts/run.py $(HOME_DIR)

quick: ## the tests without processes and browser; before every commit
	@exec $(PYTHON) scripts/tier.py quick

test: ## everything CI runs, always the same tests; installs what it needs
	@exec $(PYTHON) scripts/tier.py test

short: ## the tests that CI runs on a machine too slow for `make test`
	@exec $(PYTHON) scripts/tier.py short

proof: ## everything, also what takes hours: all tests, then every command that proves something, in its whole form
	@$(PYTHON) scripts/tier.py proof
	@$(MAKE) --no-print-directory sim SCHEDULES=$(or $(SCHEDULES),5000)
	@$(MAKE) --no-print-directory sim SCHEDULES=$(or $(SCHEDULES),5000) MINDS=1
	@$(MAKE) --no-print-directory sim SCHEDULES=$(or $(SCHEDULES),5000) PEOPLE=1
	@$(MAKE) --no-print-directory fair-share
	@$(MAKE) --no-print-directory fair-share REAL=1
	@$(MAKE) --no-print-directory explore
	@$(MAKE) --no-print-directory chaos FULL=1
	@$(MAKE) --no-print-directory storm FOR=$(or $(FOR),60m) HUBS=2
	@$(MAKE) --no-print-directory soak
	@$(MAKE) --no-print-directory guard FULL=1
	@$(MAKE) --no-print-directory seeded-bugs
	@$(MAKE) --no-print-directory forecasts-bench
	@$(MAKE) --no-print-directory walk
	@$(MAKE) --no-print-directory words
	@$(MAKE) --no-print-directory demo-check

check: ## format, lint, types, import rules, generated files, types and lint of the page
	@$(PYTHON) scripts/environment.py --dev
	@exec $(HERE) -m pytest -q tests/checks -n $(or $(PROCESSES),2) -k 'not tests_of_a_site'

gen: environment-dev ## write the generated files anew
	@$(HERE) -m starloom_agent.owner.tool_pages --results > docs/.results.part && mv docs/.results.part protocol/starloom_protocol/tools/results.json
	@$(HERE) -m tests.edge.contract
	@$(HERE) -m tests.client.generated
	@$(PYTHON) scripts/page.py --packages
	@$(HERE) -m tests.client.page | npm --prefix frontend run -s gen
	@$(HERE) -m starloom_protocol.export
	@$(HERE) -m tests.arch.states
	@$(HERE) -m starloom_agent.owner.tool_pages --table > docs/.tools.part && mv docs/.tools.part docs/tools.md
	@$(HERE) -m tests.planner.prompts
	@$(HERE) -m starloom.planner.recipes.pages > docs/.recipes.part && mv docs/.recipes.part docs/recipes.md
	@$(HERE) -m starloom.lab.nebula.planners.lures > docs/.lures.part && mv docs/.lures.part docs/nebula-lures.md

sim: environment-dev ## seeded schedules in virtual time; FOR=30m, SCHEDULES=500, SEED=0, PROCESSES=2, HUBS=2, MINDS=1 (goals, votes, judges, workers), PEOPLE=1 (roles, secrets, clocks, restores), KNOWN=0 (without seeds.txt)
	@exec $(HERE) -m tests.sim.run --schedules $(or $(SCHEDULES),500) --seed $(or $(SEED),0) \
		--processes $(or $(PROCESSES),2) $(if $(FOR),--for $(FOR)) $(if $(HUBS),--hubs $(HUBS)) $(if $(MINDS),--minds) $(if $(PEOPLE),--people) $(if $(filter 0,$(KNOWN)),--forget)

fair-share: environment-dev ## two people, twelve constellations, four devices in virtual time; SEEDS=1000; REAL=1 (once, real processes)
	@exec $(HERE) -m $(if $(REAL),tests.chaos.fair_share,tests.sim.fair_share --seeds $(or $(SEEDS),1000))

explore: environment-dev ## every order of a small world; FAULTS=2 STATES=1000000
	@exec $(HERE) -m tests.sim.explorer --faults $(or $(FAULTS),2) --states $(or $(STATES),1000000)

soak: environment-dev ## one agent and many small tasks: what it keeps stays bounded; TASKS=200000
	@exec $(HERE) -m tests.chaos.soak --tasks $(or $(TASKS),200000)

chaos: environment-dev ## real processes killed, a history checker judges what is left: a part; FULL=1 kills 100 hubs, Redis and agents, 50 workers (15 min); SEEDS=75, PROCESSES=3, ONLY=worker
	@CHAOS_SEEDS='$(or $(SEEDS),$(if $(FULL),75,2))' FULL='$(FULL)' exec $(HERE) -m tests.chaos.report \
		$(if $(or $(PROCESSES),$(FULL)),-n $(or $(PROCESSES),3) --dist worksteal) $(if $(ONLY),-k '$(ONLY)')

storm: environment-dev ## real processes killed, frozen and cut off for a time, leases as shipped; FOR=60m, HUBS=2, SEED=1
	@exec $(HERE) -m tests.chaos.storm --for $(or $(FOR),2m) --hubs $(or $(HUBS),1) --seed $(or $(SEED),0)

e2e: ## a real browser against a real stack; writes screenshots/index.html
	@$(PYTHON) scripts/environment.py --dev --page
	@exec $(HERE) -m pytest -q tests/e2e

walk: ## every visible control of every screen pressed once: wide, phone, sideways, 200 %, light and dark
	@$(PYTHON) scripts/environment.py --dev --page
	@WALK=whole exec $(HERE) -m pytest -q -s tests/e2e/test_walk.py

bench: environment-dev ## Starloom, its socket stack alone and Dask beside each other; writes docs/benchmarks.md; SMOKE=1
	@exec $(HERE) -m tests.bench $(if $(SMOKE),--smoke,--write docs/benchmarks.md)

bench-ui: ## the page of 200, 1,000 and 5,000 tasks, layered and grouped, live and ended; SIZES='200 1000' KINDS='layered-live grouped-ended' TIMELINE=1 (that lens alone) APART=1 (the browser has its own processors) PROFILE=1 (what opening it costs) BESIDE=another/dist JUDGE=0
	@$(PYTHON) scripts/environment.py --dev --page
	@exec $(HERE) -m tests.bench.ui $(if $(SIZES),--sizes $(SIZES)) $(if $(KINDS),--kinds $(KINDS)) $(if $(BESIDE),--beside $(BESIDE)) $(if $(filter 0,$(JUDGE)),--no-judge) $(if $(TIMELINE),--timeline) $(if $(APART),--apart) $(if $(PROFILE),--profile)

bench-scale: environment-dev ## a hub beside a large fleet: memory, idle, the return after a kill; FLEET=10000 TOOLS=1 (offers of real agents), REPEATS=7, PROFILE=1 (its dearest parts in place of figures), REDIS=redis://...
	@exec $(HERE) -m tests.bench.scale --agents $(or $(FLEET),10000) --tools $(or $(TOOLS),0) $(if $(PROFILE),--profile) $(if $(REPEATS),--repeats $(REPEATS)) $(if $(REDIS),--redis $(REDIS))

placement-bench: environment-dev ## placement in virtual time beside HEFT with true durations, chance and a bound; SEEDS=60
	@exec $(HERE) -m tests.bench.placement --seeds $(or $(SEEDS),60) --first $(or $(FIRST),0)

forecasts-bench: environment-dev ## expected times and chances of a deadline beside what happened, in virtual time; RUNS=500, PROCESSES=2
	@exec $(HERE) -m tests.bench.forecasts --runs $(or $(RUNS),500) --processes $(or $(PROCESSES),2)

shape: environment-dev ## rooms, arrows, floors, long functions, untyped routes and words of the code, in figures; ALL=1 names every place
	@exec $(HERE) -m tests.arch.shape $(if $(ALL),--all)

guard: ## matrices of rights, the threat table, fuzzing, 2,000 requests to real processes; FRAMES=20000, FULL=1, ROWS=S1,T26, FOR=10m
	@$(PYTHON) scripts/environment.py --dev --page
	@FRAMES='$(FRAMES)' CASES='$(CASES)' REAL='$(REAL)' FULL='$(FULL)' SEED='$(SEED)' ROWS='$(ROWS)' FOR='$(FOR)' exec $(HERE) -m tests.guard.report

words: environment-dev ## requests in words against the recipes: what is taken, offered, refused; 0 wrong takes
	@exec $(HERE) -m tests.planner.corpus

seeded-bugs: environment-dev ## puts known bugs into a copy and shows that the tests catch each; PROCESSES=2, BUG='words of one'
	@exec $(HERE) -m tests.seeded_bugs.run --processes $(or $(PROCESSES),2) $(if $(BUG),'$(BUG)')

wheels: ## the three wheels that are an installation without a clone, into build/wheels, and the lines that install them
	@$(PYTHON) scripts/environment.py --page
	@exec $(HERE) scripts/wheels.py

demo-check: environment-dev ## the sample in a temporary home, asserted
	@exec $(HERE) -m starloom.lab.sample.demo_check

dev: environment-dev ## the service without the sample, with lab tools
	@PORT='$(PORT)' DEMO=0 LAB=1 exec $(PYTHON) scripts/run.py $(HOME_DIR)

environment-dev:
	@$(PYTHON) scripts/environment.py --dev

environment:
	@$(PYTHON) scripts/environment.py
