# make demo   the main job end to end
# make test   ruff, mypy and every test
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
MINUTES ?= 30

.PHONY: demo test attack flags faults fuzz node replay race measure-house agreement cross coverage mutants golden api-page options-page docs clean

demo: $(VENV)/.demo
	$(BIN)/svmcompile demo

test: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto --dist worksteal

# Are files old or new whatever system call fails, or is where the process is killed?
faults: $(VENV)/.dev
	$(BIN)/python -W ignore -m tests.faults.run

# Do readers of mutated files give a model or an error of the project? MINUTES for all of them together
fuzz: $(VENV)/.dev
	$(BIN)/python -W ignore -m tests.fuzz.run --minutes $(MINUTES)

# Does any label differ from the original's? Random models and options, rows on the boundary.
attack: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -W ignore -m tests.attack.attack --minutes $(MINUTES) \
		$(if $(SEED),--seed $(SEED))

# Do labels hold, or does the compiler refuse, whatever its flags and the caller's modes? All combinations.
flags: $(VENV)/.dev
	SVMCOMPILE_ALL_FLAGS=1 OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n auto \
		tests/targets/test_c_flags.py

# Is what is emitted the same, byte for byte, as what was recorded?
replay: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -W ignore -m tests.replay.replay

# Is the emitted C as fast as that of another commit?
race: $(VENV)/.dev
	OMP_NUM_THREADS=1 $(BIN)/python -W ignore -m tests.replay.race $(BASE)

# How large is the package, and how far are its facts spread? COMMIT=... sets another commit beside this one.
measure-house: $(VENV)/.dev
	$(BIN)/python -W ignore -m tests.replay.house $(COMMIT)

agreement: $(VENV)/.dev
	$(BIN)/python examples/agreement.py

# Is every pair of options, and are random combinations, refused by name or right under sanitizers?
cross: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONPATH=tests $(BIN)/python -W ignore -m tests.crossing.run --part $(or $(PART),1/1) \
		$(if $(SEED),--seed $(SEED))

# Does the test that C ships take every branch, or is the reason known?
coverage: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -W ignore -m tests.coverage.run

# Does a changed operator, number or line of a template give wrong answers that tests see? A random sample.
mutants: $(VENV)/.dev
	OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONPATH=tests:tests/targets $(BIN)/python -W ignore -m tests.mutants.run --minutes $(MINUTES) \
		$(if $(SEED),--seed $(SEED))

golden: $(VENV)/.dev
	$(BIN)/python -m pytest -m golden --update-golden

api-page: $(VENV)/.dev
	$(BIN)/python -m tests.api_page docs/api.md

options-page: $(VENV)/.dev
	$(BIN)/python -m tests.options_page docs/options.md

# The run times of ONNX for JavaScript, which tests run where they are installed
node:
	npm install --prefix out/node --ignore-scripts --no-audit --no-fund onnxruntime-web onnxruntime-node

# The documentation as a site, in out/site; `python -m http.server -d out/site` shows it with its search
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

clean:
	rm -rf $(VENV)

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "svmcompile needs Python 3.10 or newer: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[onnxruntime]'
	touch $@

$(VENV)/.dev: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	touch $@ $(VENV)/.demo
