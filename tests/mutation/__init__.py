"""Mutation testing: small faults are put into the code, one at a time; a test must fail for each.

    pip install -e .[dev,mutation]
    python -m tests.mutation --package run --sample 40 --seed 1

The faults are cosmic-ray's; what runs them is ours, because here

- a mutant is run with the tests that execute its statement, the fastest first, so that it takes seconds (cosmic-ray has
  one command for all mutants of a session);
- mutmut 3, which selects tests itself, changes functions only. The borders of `advise.rules` are tables of a module, a
  third of the figures are read by functions that are decorated (properties, `lru_cache`), and its switch is a variable
  of the environment, which our tests empty.

Limits count processor time (of a test process, and of the programs that it waited for), so that a busy machine gives
the same figures. ``--seconds`` limits the tests that a mutant is run with. One that survives those while others execute
it too is *unjudged*, and counts as not noticed. A run may take 20 s and four times what its tests take without a
mutant; one that takes more is a *timeout*, and counts as noticed, as with cosmic-ray. So does a run that lasts ten
times as long: it waits for something.

Each worker has a copy of the tree; the checkout is never changed. Programs that a test starts see the installed code,
not the mutant.
"""
