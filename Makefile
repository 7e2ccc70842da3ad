# Every target is one command of bootstrap.py; without make, run `python3 bootstrap.py demo` and so on.
PYTHON ?= python3

.PHONY: demo check setup wizard pictures clean
demo check setup wizard pictures clean:
	@$(PYTHON) bootstrap.py $@
