# Everything runs in its own virtual environment, .venv, made on first use.
PYTHON ?= python3
BIN := .venv/bin
.DEFAULT_GOAL := help
.PHONY: help demo demo-data test check unit quick slow page-test stubs pictures docs fuzz sanitize mutants cross workflows wheel clients lowest clean
RUNS ?= 200000
SEED ?= 1
MINUTES ?= 5
TORCH ?= torch
PEERS ?=
LOWEST ?= tests
# What is compiled once is kept: without this every worker of every run rewrites all tests' assertions.
unexport PYTHONDONTWRITEBYTECODE

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 11

demo: .venv/installed  ## the bundled data on one page; open verite-demo/report.html
	$(BIN)/verite demo verite-demo

demo-data: .venv/developing  ## draw the bundled data again: images, ground truth and three detectors
	$(BIN)/python tools/draw_demo.py

test: check unit  ## lint, types and every test that is not slow

check: .venv/developing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/clang-format --dry-run --Werror cpp/*/*.cpp cpp/*/*.hpp tests/cpp/*.cpp

unit: .venv/developing
	$(BIN)/pytest -m "not slow"

quick: .venv/developing  ## a look at everything in a minute: nothing slow or thorough, of each test the first parameters and cases
	$(BIN)/pytest --quick

slow: .venv/developing  ## what takes long: large files, long runs, the whole demo
	$(BIN)/pytest -m slow

stubs: .venv/developing  ## src/verite/_core.pyi, what the types of the native core are
	$(BIN)/python tools/stubs.py

page-test: .venv/developing  ## the page in a real browser, where there is one
	$(BIN)/pytest -rs -m "page and not slow" tests/reporting/report

pictures: .venv/developing  ## every picture of the documentation, anew
	$(BIN)/python tools/pictures.py

docs: .venv/developing  ## the documentation, into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q docs docs/_build/html

fuzz: .venv/developing build/fuzz/fuzz_json  ## hostile input at every entry point, races, kills, interrupts; MINUTES=5 RUNS=200000 SEED=1
	$(BIN)/python -m tests.json.corpus build/fuzz/corpus
	build/fuzz/fuzz_json $(RUNS) $(SEED) build/fuzz/corpus/*
	$(BIN)/python -m tests.campaign --minutes $(MINUTES) --seed $(SEED)

# Checks of null pointers and sizes of objects are left to the addresses, which know both: they double the compiling.
sanitize: .venv/developing  ## the same on a core in which every read beyond a bound ends the run; MINUTES=5
	cmake -S . -B build/sanitize -DVERITE_UNITY=ON -DCMAKE_BUILD_TYPE=None \
	  -DCMAKE_CXX_FLAGS="-O1 -g1 -fsanitize=address,undefined -fno-sanitize=null,object-size,vptr -fno-sanitize-recover=all" \
	  -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -DSKBUILD_SABI_COMPONENT=Development.SABIModule \
	  -Dnanobind_DIR=$$($(BIN)/python -c "import nanobind; print(nanobind.cmake_dir())") > build/sanitize.log
	cmake --build build/sanitize --parallel 2 >> build/sanitize.log
	VERITE_CORE=$$(ls $(CURDIR)/build/sanitize/_core*.so) ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
	  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  $(BIN)/python -m tests.campaign --minutes $(MINUTES) --seed $(SEED) --only formats --only archives --only "COCO files" \
	  --only functions --only parts --only masks

mutants: .venv/developing  ## would the tests notice a mistake? 300 changes in four packages, drawn by SEED=1
	$(BIN)/python -m tools.mutants --seed $(SEED)

cross: .venv/installed  ## the kernels for Windows and 64-bit ARM, and COCO's numbers under qemu
	$(BIN)/python tools/cross.py

wheel:  ## a wheel into dist/, tried in an empty environment
	rm -rf build/wheel
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/verite-*.whl
	build/wheel/bin/python tests/wheels/smoke.py

workflows:  ## are the workflows of .github what their schema says, and safe?
	test -x build/workflows/bin/zizmor || $(PYTHON) -m venv build/workflows
	build/workflows/bin/python -m pip install --quiet --disable-pip-version-check check-jsonschema zizmor cibuildwheel==4.3.3
	build/workflows/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	build/workflows/bin/zizmor --offline --no-progress .github
	build/workflows/bin/cibuildwheel --platform linux --archs x86_64 --print-build-identifiers .

clients: .venv/installed  ## training loops and other people's tests, unchanged, on verite; a large download. PEERS=folder of sources
	test -x build/clients/bin/python || $(PYTHON) -m venv build/clients
	build/clients/bin/python -m pip install --quiet --disable-pip-version-check "$(TORCH)" torchmetrics pytorch-lightning \
	  transformers accelerate pycocotools faster-coco-eval pytest parameterized cachier hypothesis .
	# What the tools need that quirks repeat, and they themselves without dependencies: torch stays the one asked for.
	build/clients/bin/python -m pip install --quiet --disable-pip-version-check matplotlib pillow pyyaml requests scipy \
	  psutil polars opencv-python-headless defusedxml tqdm pydeprecate
	build/clients/bin/python -m pip install --quiet --disable-pip-version-check --no-deps torchvision ultralytics \
	  ultralytics-thop supervision sahi mmdet mmengine "mmcv-lite<2.2" datasets
	build/clients/bin/python -m pip install --quiet --disable-pip-version-check shapely tabulate terminaltables addict \
	  yapf platformdirs rich pandas pyarrow dill multiprocess xxhash fvcore iopath fire
	build/clients/bin/python -m pytest -rs -p no:cacheprovider -o addopts= tests/compat tests/protocols/test_incremental.py
	# Below PEERS: sources of cocoapi (ppwwyyxx), torchmetrics and faster_coco_eval for their tests, of detr, Deformable-DETR,
	# DINO, rf-detr, vision, detectron2, mmdetection, YOLOX, transformers and ultralytics for their evaluators.
	build/clients/bin/python -W ignore -m tests.compat.objects $(PEERS)
	test -z "$(PEERS)" || build/clients/bin/python -m tests.compat.peers "$(PEERS)"
	test -z "$(PEERS)" || build/clients/bin/python -m tests.compat.evaluators "$(PEERS)"
	test -z "$(PEERS)" || build/clients/bin/python -m tests.compat.backends "$(PEERS)"

lowest:  ## every test that is not slow with the lowest version of each dependency, in an environment of its own
	test -x build/lowest/bin/python || $(PYTHON) -m venv build/lowest
	build/lowest/bin/python -m pip install --quiet --disable-pip-version-check $$($(PYTHON) tools/lowest.py) . \
	  pytest pytest-xdist hypothesis pycocotools scipy mpmath statsmodels
	# Old packages warn of what newer ones deprecate; that is not ours to mend. What needs newer peers is left out.
	build/lowest/bin/python -m pytest -p no:cacheprovider -o filterwarnings=default -m "not slow" $(LOWEST)

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
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[plots]"
	$(BIN)/python -m compileall -q src
	touch $@

.venv/developing: .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	# A live oracle. Without its dependencies: one of them would replace the headless OpenCV.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps "lvis>=0.5.3"
	touch $@
