# make run | make demo | make test | make lint | make bench | make assets | make clean
# VENV names another environment, PYTHON another interpreter (3.11 or newer), PORT another port, HOST another address to listen on
# (0.0.0.0 lets every machine in, and there is no login). JOBS is the number of tests that run at once; those in a browser run alone, since
# pages on a busy machine take longer than a test should wait.
PYTHON ?= python3
PORT ?= 8501
HOST ?= localhost
JOBS ?= 2
ifdef VENV
LITE := $(VENV)
endif
VENV ?= .venv
LITE ?= .venv-lite

# A stamp carries the checksum of the requirement files: an unchanged set installs nothing, a changed one always installs.
sum = $(shell cat $(1) | cksum | cut -d ' ' -f 1)
LITE_STAMP := $(LITE)/.lite-$(call sum,requirements-lite.txt)
RUN_STAMP := $(VENV)/.run-$(call sum,requirements-lite.txt requirements.txt)
DEV_STAMP := $(VENV)/.dev-$(call sum,requirements-lite.txt requirements.txt requirements-dev.txt)
SERVE = -m streamlit run streamlit_app.py --server.address $(HOST) --server.port $(PORT)

.PHONY: run demo test lint bench assets clean
run: $(RUN_STAMP)
	$(VENV)/bin/python $(SERVE)

demo: $(LITE_STAMP)
	ODDYSSEY_DEMO=1 $(LITE)/bin/python $(SERVE)

test: $(DEV_STAMP)
	$(VENV)/bin/python -m pytest -n $(JOBS) --dist loadfile -m "not browser"
	$(VENV)/bin/python -m pytest -m browser

lint: $(DEV_STAMP)
	$(VENV)/bin/python -m ruff check .
	$(VENV)/bin/python -m ruff format --check .
	$(VENV)/bin/python -m mypy

bench: $(DEV_STAMP)
	@for file in bench/bench_*.py; do $(VENV)/bin/python $$file || exit 1; done

# Everything in assets/ that a program made, made again. The result must equal what is committed.
assets: $(RUN_STAMP)
	@for file in assets/*/make_*.py; do $(VENV)/bin/python $$file || exit 1; done

clean:
	rm -rf .venv .venv-lite .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find core pages tests -name __pycache__ -type d -prune -exec rm -rf {} +

$(LITE_STAMP): ; $(call install,$(LITE),-r requirements-lite.txt)
$(RUN_STAMP): ; $(call install,$(VENV),-r requirements.txt)
$(DEV_STAMP): ; $(call install,$(VENV),-r requirements.txt -r requirements-dev.txt)

define install
@$(PYTHON) -c 'import sys; sys.exit("Oddyssey needs Python 3.11 or newer; name one with PYTHON=..." if sys.version_info < (3, 11) else 0)'
test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
$(1)/bin/python -m pip install --quiet --disable-pip-version-check $(2)
@touch $@
endef
