# make book   from a fresh clone to the rendered book (TIER=mini by default)
# make preview   a book of the stored outputs, in a minute
# make test   all checks: make lint, then make unit, then the book
# make lint   style, types, budgets, English, links: less than a minute
# make unit   unit tests and doctests
# make test-all   also the long checks: every notebook alone, every variant of a network
# make run    the notebooks of a tier, without the book: make run TIER=small DATA_ROOT=...
#             or some of them, with the notebooks that they need: PAPER=uimnet, STEP=uimnet/figures
# make plan   the jobs of a tier on a cluster, with hours, memory and CPUs: make plan TIER=paper
# make data   the packs of the tiers small and pretrained that can be fetched, into DATA_ROOT
# make rehearsal   every notebook of tier paper, with made-up images and small sizes
PYTHON ?= python3
TIER ?= mini
CORES ?= $(shell $(PYTHON) -c "import os; print(len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count())")
PROFILE ?=
BIN := .venv/bin
PIPELINE = $(BIN)/python workflow/run.py --tier $(TIER) --cores $(CORES) $(if $(PROFILE),--profile $(PROFILE))
# a file at a time keeps what its tests share; nbval imports for seconds, and no unit test needs it
UNIT = $(BIN)/python -m pytest -p no:nbval
DIVIDED = -n $(CORES) --dist loadfile
# oneDNN and torch have separate code for AVX-512 and AVX2: tests that compute with networks run
# with both
AS_AVX2 = ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2
COMPUTES = tests/training/test_training.py tests/training/test_objectives.py tests/test_outputs.py \
	tests/networks --ignore tests/networks/test_zoo.py  # which compares one code with itself
# the step of the rehearsal that reads most folders; it takes half a minute
REHEARSED = unknown_detection/dataset
ALONE = openset_calibration
# the committed numbers that the book reproduced; without a book, it is skipped
AGREES = tests/synthesis/test_whole_build.py
export PYTHONUNBUFFERED = 1
# glibc gives large tensors back to the kernel and asks for them again, a page at a time, in each layer
# of a network; without that, a pass takes up to a quarter less
export MALLOC_MMAP_THRESHOLD_ = 33554432
export MALLOC_TRIM_THRESHOLD_ = 268435456
unexport PYTHONDONTWRITEBYTECODE   # byte code is written on first use; without it every start costs seconds

.PHONY: setup preview book plan data lint unit test test-all rehearsal run notebooks bench lab lock clean
.DEFAULT_GOAL := book

# without an NVIDIA driver, PyTorch's own index has a build that is gigabytes smaller
CPU_INDEX ?= https://download.pytorch.org/whl/cpu
# other libraries that only `make bench` needs, and what they import
PEERS = einops==0.8.2 faiss-cpu==1.15.1 lightning==2.6.6 lightning-utilities==0.15.3 \
	osr-metrics==0.5.0 rich==15.0.0 torch-uncertainty==0.13.0
PIP = PIP_USER=0 $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps
.venv/.installed: requirements.lock pyproject.toml
	@$(PYTHON) -c "import sys; (3, 11, 4) <= sys.version_info[:3] < (3, 14) or sys.exit( \
	    'the book needs Python 3.11.4 or later, 3.12 or 3.13, not ' + sys.version.split()[0] + \
	    '; name one: make book PYTHON=python3.12 (the tool alone, pip install ., runs on later versions)')"
	@$(BIN)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv .venv
	@echo "installing the pinned packages: a few minutes"
	@sed -nE 's/^(torch|torchvision)(==[^ ;]*).*/\1\2+cpu/p' requirements.lock > .venv/torch.txt
	@if ! nvidia-smi -L > .venv/pip.log 2>&1 && $(PIP) --no-compile --retries 1 --timeout 15 \
	        --index-url $(CPU_INDEX) -r .venv/torch.txt > .venv/pip.log 2>&1; \
	    then echo "PyTorch without CUDA, from $(CPU_INDEX)"; \
	    sed -E '/^(torch=|torchvision=|cuda|nvidia|triton)/,/[^\\]$$/d' requirements.lock > .venv/lock.txt; \
	    else echo "PyTorch from PyPI, with CUDA on Linux"; cp requirements.lock .venv/lock.txt; fi
	@$(PIP) --no-compile --require-hashes -r .venv/lock.txt
	@$(PIP) --no-build-isolation -e .
	@touch $@

# what the checks and JupyterLab need beside the book's packages
.venv/.tested: requirements-test.lock .venv/.installed
	@echo "installing the packages of the checks"
	@$(PIP) --no-compile --require-hashes -r requirements-test.lock
	@$(BIN)/python -m pip check
	@touch $@

# Both locks, for Python 3.11 to 3.13, with the hashes of the files. It needs uv. A pin changes only
# with UPGRADE=--upgrade or, for one package, UPGRADE="--upgrade-package pydantic".
# PyTorch's build for CPUs has other hashes: `make setup` pins it by version only.
COMPILE = uv pip compile pyproject.toml --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-annotate --custom-compile-command "make lock" --quiet $(UPGRADE) \
	--extra torch --extra book
lock:
	$(COMPILE) -o requirements.lock
	@mkdir -p runs && cat requirements.lock requirements-test.lock > runs/both.lock
	$(COMPILE) --extra test --extra lab -c requirements.lock -o runs/both.lock
	awk 'NR == FNR {book[$$0]; next} /^[a-z]/ {added = !($$0 in book)} /^#/ || added' \
	    requirements.lock runs/both.lock > requirements-test.lock

setup: .venv/.installed

preview: .venv/.installed
	@echo "a book of the stored outputs: this takes a minute"
	@$(BIN)/python workflow/book.py mini --preview

book: .venv/.installed
	@$(PIPELINE) book
	@echo "open $(CURDIR)/runs/$(TIER)/book/_build/html/index.html"

run: .venv/.installed
	@$(PIPELINE) $(if $(PAPER),--paper $(PAPER)) $(if $(STEP),--step $(STEP)) all

plan: .venv/.installed
	@$(BIN)/python workflow/plan.py --tier $(TIER)

data: .venv/.installed
	@$(BIN)/python workflow/make_data.py

# no code of the project runs here, except what reads texts
lint: .venv/.tested
	$(BIN)/ruff check . && $(BIN)/ruff format --check .
	$(BIN)/mypy
	$(UNIT) lint

unit: .venv/.tested
	@mkdir -p runs && touch runs/unit_tests.began
	$(UNIT) $(DIVIDED) && times > runs/unit_tests.txt
	if grep -qsw avx512f /proc/cpuinfo; then $(AS_AVX2) $(UNIT) $(COMPUTES); fi

# fast checks first; the book's executed notebooks are compared with the stored outputs, its numbers
# with the committed numbers of larger tiers, and the notebooks of one chapter are executed alone, as
# a reader does (all of them: test-all);
# benchmarks.pipeline: the CPU time of each chapter and of the unit tests; bare.py: the installed
# tool with only its declared packages
test: lint unit
	@$(PIPELINE) book
	$(BIN)/python -m benchmarks.pipeline
	$(BIN)/python -m pytest --nbval notebooks $(AGREES) --executed runs/$(TIER)
	$(BIN)/python workflow/bare.py
	@$(BIN)/python workflow/run.py --tier rehearsal --cores $(CORES) --step $(REHEARSED) all
	$(BIN)/python -m pytest --nbval notebooks/$(ALONE) $(DIVIDED)

test-all: test
	$(UNIT) -m exhaustive $(DIVIDED)
	$(BIN)/python -m pytest --nbval notebooks $(DIVIDED)

rehearsal: .venv/.installed
	@$(BIN)/python workflow/run.py --tier rehearsal --cores $(CORES) all

notebooks: .venv/.installed
	@$(BIN)/python workflow/run.py --cores $(CORES) all
	$(BIN)/python workflow/store_outputs.py

# with AVX2 for both sides: NumPy sorts five times slower with AVX-512 on AMD's Zen 4, see
# https://github.com/numpy/numpy/pull/32690
# and with the memory of a call given back after it
BENCH = env -u MALLOC_MMAP_THRESHOLD_ -u MALLOC_TRIM_THRESHOLD_ $(AS_AVX2) NPY_DISABLE_CPU_FEATURES="X86_V4 AVX512_ICL AVX512_SPR" OMP_NUM_THREADS=1

bench: .venv/.tested
	@$(PIP) --upgrade --target .venv/peers $(PEERS)
	$(BENCH) PYTHONPATH=.venv/peers $(BIN)/python -m benchmarks.peers && $(BIN)/python -m benchmarks.training

lab: .venv/.tested
	$(BIN)/jupyter lab --notebook-dir .

clean:
	rm -rf runs cache
