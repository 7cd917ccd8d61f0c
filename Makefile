# The same words here, in .ci/run and on a developer's machine.

VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: help demo test test-frozen test-box binary image lint format bench soak messages clean

help:
	@echo 'make demo      run the whole chain with a scripted model, in ./demo: no key, no network'
	@echo 'make test      run the tests'
	@echo 'make binary    build dist/flower/ and the one file (as LEVEL=19 for a release)'
	@echo 'make image     build the container image flower-box out of dist/flower/'
	@echo 'make test-box  test it and flowerbox (as root; starts an engine where none is)'
	@echo 'make test-frozen  test the built file (as root; needs mmdebstrap)'
	@echo 'make lint      formatting, types, the arrows between the rooms, the manual'
	@echo 'make format    let ruff format and fix'
	@echo 'make bench     print the table of measurements'
	@echo 'make soak      the long tests'
	@echo 'make messages  extract the messages, merge them into the catalogues, compile'

demo: $(VENV)/.installed
	$(BIN)/flower demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not soak and not frozen and not box' $(ARGS)

binary: $(VENV)/.freeze
	$(BIN)/python packaging/build.py --level $(or $(LEVEL),10)

test-frozen: $(VENV)/.dev $(VENV)/.freeze
	$(BIN)/python -m pytest -m 'frozen and not soak' tests/frozen $(ARGS)

# claude is put beside the tree, as a second name of the same file: a layer of its own, and no second copy.
IMAGE ?= flower-box
image:
	@test -x dist/flower/flower || $(MAKE) binary
	@ln -f dist/flower/_internal/claude_agent_sdk/_bundled/claude dist/claude
	docker build $(IMAGE_ARGS) --quiet --tag $(IMAGE) --file docker/Dockerfile \
	  --build-arg VERSION="$$(sed -n 's/^__version__ = "\(.*\)"/\1/p' flower/__init__.py)" \
	  --build-arg REVISION="$$(git rev-parse HEAD 2>/dev/null || echo unknown)" .

test-box: $(VENV)/.dev
	$(BIN)/python -m pytest -m 'box and not soak' tests/box $(ARGS)

lint: $(VENV)/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/mkdocs build --strict --site-dir dist/site
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/zizmor --offline --quiet .github/workflows

format: $(VENV)/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks $(ARGS)

soak: $(VENV)/.dev
	$(BIN)/python -m pytest -m 'soak and not frozen and not box' $(ARGS)

messages: $(VENV)/.dev
	$(BIN)/python flower/locale/maintain.py

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis

# The first Python that runs and is new enough: a name on PATH may be a shim for a version that is not there.
$(VENV)/bin/python:
	@for python in python3 python3.13 python3.12 python3.11 python3.10; do \
	  if $$python -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then \
	    echo "making $(VENV) with $$python"; \
	    $$python -m venv $(VENV) && exit 0; \
	    echo "cannot make a virtual environment with $$python (on Debian: apt-get install python3-venv)" >&2; \
	    rm -rf $(VENV); exit 1; \
	  fi; \
	done; echo 'flower needs Python 3.10 or newer' >&2; exit 1

$(VENV)/.installed: $(VENV)/bin/python pyproject.toml hatch_build.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e .
	@touch $@

$(VENV)/.freeze: $(VENV)/bin/python pyproject.toml hatch_build.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[freeze]'
	@touch $(VENV)/.installed $@

$(VENV)/.bench: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	@touch $@

$(VENV)/.dev: $(VENV)/bin/python pyproject.toml hatch_build.py
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(VENV)/.installed $@
