"""Which tests a mutant is run with, and which places are no mutants."""

from __future__ import annotations

import ast

from tests.mutation.coverage_map import CoverageMap, span
from tests.mutation.mutants import annotates, declares

CODE = """LIMIT: int = 3
class C:
    size = 1
    def outer(self, a: int | None = 1) -> int | None:
        def inner():
            return 2
        return inner() | a
"""
TREE = ast.parse(CODE)
KNOWN = CoverageMap({"m.py": {6: ["slow", "fast"], 7: ["slow"]}}, {"slow": 9.0, "fast": 0.1})


def test_a_place_belongs_to_the_innermost_function() -> None:
    assert [span(TREE, line) for line in (1, 3, 4)] == [None, None, None]  # executed on import
    assert span(TREE, 6) == range(6, 7)
    assert span(TREE, 7) == range(5, 8)


def test_the_fastest_tests_that_execute_the_function_come_first() -> None:
    assert KNOWN.tests("m.py", range(6, 7), 30) == ["fast", "slow"]
    assert KNOWN.tests("m.py", range(7, 8), 1) == ["slow"]  # one is always run
    assert KNOWN.tests("m.py", range(5, 8), 5) == ["fast"]
    assert KNOWN.tests("m.py", None, 30) == ["fast", "slow"]
    assert KNOWN.tests("m.py", range(1, 3), 30) == []
    assert KNOWN.tests("other.py", None, 30) == []


def test_golden_tests_come_first_for_half_of_the_time() -> None:
    names = ["a/test_golden_x.py::one", "a/test_golden_x.py::two", "fast", "slow"]
    known = CoverageMap({"m.py": {6: names}}, {names[0]: 4.0, names[1]: 5.0, "fast": 1.0, "slow": 9.0})
    assert known.tests("m.py", None, 10) == [names[0], "fast", names[1]]
    assert known.tests("m.py", None, 30) == [*names[:2], "fast", "slow"]


def test_what_nothing_executes_is_no_mutant() -> None:
    lines = CODE.splitlines()
    assert annotates(TREE, 4, lines[3].index("|"))
    assert annotates(TREE, 4, lines[3].rindex("|"))
    assert not annotates(TREE, 4, lines[3].index("1"))
    assert not annotates(TREE, 7, lines[6].index("|"))
    assert not annotates(TREE, 1, lines[0].index("3"))


def test_what_a_decorator_of_a_class_declares_is_no_mutant() -> None:
    tree = ast.parse("@dataclass(frozen=True)\nclass A:\n    a: int = 1\n    @cache\n    def f(self): ...\n")
    assert [declares(tree, line) for line in range(1, 6)] == [True, False, False, False, False]
