# Run, test and measure rescriptum from a checkout. `make help` lists the targets.
PYTHON ?= python3
VENV ?= venv
BIN = $(VENV)/bin
# Editable installs do not expose twistd plugins: the checkout itself is on the path.
export PYTHONPATH = .
export PYTHONDONTWRITEBYTECODE = 1

.PHONY: help run loaders test trial check lint types docs reference smoke examples lab lab-all lab-cache bench
.PHONY: clean ramdisk ramdisk-twice

help:  ## What each target does.
	@sed -n 's/^\([a-z-]*\):.*## /  \1\t/p' $(MAKEFILE_LIST)

$(VENV)/.run: setup.cfg pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install -q --disable-pip-version-check -e .
	touch $@

$(VENV)/.dev: $(VENV)/.run
	$(BIN)/pip install -q --disable-pip-version-check -e '.[dev]'
	touch $@

run: $(VENV)/.run run/boot/SHA256SUMS run/answers run/media  ## Serve the example answers on unprivileged ports.
	BIN=$(BIN) sh examples/run.sh

run/boot/SHA256SUMS:
	mkdir -p run
	sh ipxe/build.sh --out run/boot

run/answers:
	mkdir -p run && cp -R examples/answers run/answers

run/media:
	mkdir -p run/media

ramdisk: $(VENV)/.dev  ## Build the ramdisk into run/ramdisk (root, mmdebstrap, zstd, cpio).
	ramdisk/build.sh --out run/ramdisk --python $(BIN)/python
	$(BIN)/python ramdisk/boot.py run/ramdisk

ramdisk-twice: ramdisk  ## Build the ramdisk once more, and see that it comes out the same byte by byte.
	ramdisk/build.sh --out run/ramdisk-twice --python $(BIN)/python
	cd run/ramdisk-twice && sha256sum --check ../ramdisk/SHA256SUMS

loaders: run/boot/SHA256SUMS  ## Assemble the loaders into run/boot.

test: trial  ## The test suite; the last line counts what passed and failed.

trial: $(VENV)/.dev
	$(BIN)/python tests/report.py $(SKIPS) $(TESTS)

check: lint types test docs smoke examples  ## Everything but the lab.

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.dev
	$(BIN)/mypy

docs: $(VENV)/.dev  ## The API documentation into build/api; a warning is an error.
	$(BIN)/pydoctor --quiet --warnings-as-errors --docformat=restructuredtext \
	  --privacy="HIDDEN:**._*" --project-name=rescriptum --html-output=build/api rescriptum

reference: $(VENV)/.dev  ## Write docs/reference.md, and what is made of docs/protocol.md, anew.
	$(BIN)/python -m rescriptum.cli.reference > docs/reference.md
	$(BIN)/python -m rescriptum.cli.protocol docs

smoke: $(VENV)/.dev  ## Install the built wheel into a clean environment and start it.
	sh tests/smoke.sh $(BIN)/python

examples: $(VENV)/.dev  ## Check the example answers, by installers' own tools where they are here.
	PATH="$(CURDIR)/$(BIN):$$PATH" RESCRIPTUM_ANSWERS_DIR=examples/answers $(BIN)/rescriptum check --every

lab-cache: $(VENV)/.dev  ## Fetch and build what the lab boots; else its first tests do.
	$(BIN)/python -m tests.lab.assets

lab: $(VENV)/.dev  ## Boot real firmware in QEMU (root, and the packages that lab.md names).
	LAB=ci $(BIN)/python tests/report.py --no-skips tests.lab

lab-all: $(VENV)/.dev  ## Every boot of the lab, the installers included.
	LAB=all $(BIN)/python tests/report.py --no-skips tests.lab

bench: $(VENV)/.dev  ## Measure the hot paths beside their peers; exits 1 below a floor.
	$(MAKE) -C bench
	$(BIN)/python -m bench

clean:
	rm -rf $(VENV) build dist run lab-work _trial_temp* *.egg-info
