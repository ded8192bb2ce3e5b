# SPDX-License-Identifier: BSD-3-Clause
# The commands of this project; `make help` lists them. `deps`, and those that call it, install packages through apt;
# `build` installs nothing.
.DEFAULT_GOAL := help
.PHONY: help demo deps build test test-matrix test-sanitize test-packages lint docs bench clean

MAKEFLAGS += --no-print-directory
JOBS ?= $(shell nproc)
ifneq ($(shell command -v ccache),)
export CMAKE_C_COMPILER_LAUNCHER ?= ccache
export CMAKE_CXX_COMPILER_LAUNCHER ?= ccache
# What one clone has compiled serves the next, wherever it lies.
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= 1
# Without these it does not serve sources that have a precompiled header.
export CCACHE_SLOPPINESS ?= pch_defines,time_macros
endif
ifneq ($(shell command -v ninja),)
export CMAKE_GENERATOR ?= Ninja
endif

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## /\1|/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "make %-15s %s\n", $$1, $$2 }'

# What `make deps` installs packages for: any of build, demo, test, lint, docs, bench, packages.
FOR ?= build

define build_programs
	cmake --preset release -DTHENCE_PRECOMPILE_HEADERS=ON
	cmake --build --preset release --target programs --parallel $(JOBS)
endef

demo: ## build, measure what Thence gains and loses here (three minutes), leave figures and report in build/demo
	$(MAKE) deps FOR="build demo"
	$(build_programs)
	scripts/demo.py build/release build/demo

deps: ## install what is missing for FOR="build" (or demo, test, lint, docs, bench) through apt
	scripts/setup.sh $(FOR)

build: ## build the release preset; the command is build/release/bin/thence; installs nothing
	scripts/setup.sh --check build
	$(build_programs)

test: ## all tests on the MPI in PATH, a part of them on every other MPI, senders with Clang and on stdexec too; DOOR=mpix: of one door
	$(MAKE) deps FOR=test
	scripts/run_tests.py --jobs $(JOBS) $(if $(DOOR),--door $(DOOR))

test-matrix: ## all tests on every MPI, and those that take long
	$(MAKE) deps FOR=test
	scripts/run_tests.py --jobs $(JOBS) --full

test-sanitize: ## tests that need no real MPI with address, undefined-behaviour and thread sanitizers
	$(MAKE) deps FOR=test
	scripts/run_tests.py --jobs $(JOBS) asan tsan

test-packages: ## build the Debian packages and the smallest variant of the Spack recipe, and use them
	$(MAKE) deps FOR="test packages"
	cmake --preset release
	ctest --test-dir build/release -C packages -L '^packages$$' --output-on-failure --no-tests=error

lint: ## layout, static checks, include directions, public headers alone
	$(MAKE) deps FOR="build lint"
	scripts/lint.sh

docs: ## a site in build/docs: guide, API reference and man pages, with a search
	$(MAKE) deps FOR=docs
	"$$(scripts/python_with.sh markdown_it pygments)" scripts/make_docs.py --output build/docs

bench: ## benchmarks with their figures in build/bench
	$(MAKE) deps FOR=bench
	$(build_programs)
	mkdir -p build/bench
	env $$(grep '^[A-Z]' cmake/test_environment.txt) \
	    build/release/bin/thence bench --all --json build/bench/figures.json --plot build/bench

clean: ## remove all that was built, but not the downloaded MPIs
	find build -mindepth 1 -maxdepth 1 ! -name mpi -exec rm -rf {} + 2>/dev/null || true
