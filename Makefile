# Each target is a command of bootstrap.py; without make, run `python3 bootstrap.py demo`.
PYTHON ?= python3

.PHONY: demo check setup dev wizard pictures clean
demo check setup dev wizard pictures clean:
	@$(PYTHON) bootstrap.py $@
