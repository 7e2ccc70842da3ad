"""Which tests a mutant is run with, what counts as noticed, and which places are no mutants."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.mutation import __main__ as program
from tests.mutation.__main__ import Outcome, run, tried
from tests.mutation.coverage_map import CoverageMap, fingerprint, span
from tests.mutation.mutants import Mutant, Place, annotates, declares

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


def test_a_place_belongs_to_the_innermost_statement_of_a_function() -> None:
    assert [span(TREE, line) for line in (1, 3, 4)] == [None, None, None]  # executed on import
    assert span(TREE, 5) == range(5, 7)
    assert span(TREE, 6) == range(6, 7)
    assert span(TREE, 7) == range(7, 8)
    several = ast.parse("def f(a):\n    if a:\n        return g(\n            a,\n        )\n    return 1\n")
    assert [span(several, line) for line in (2, 4, 6)] == [range(2, 6), range(3, 6), range(6, 7)]


def test_the_fastest_tests_that_execute_the_function_come_first() -> None:
    assert KNOWN.tests("m.py", range(6, 7), 30) == (["fast", "slow"], True)
    assert KNOWN.tests("m.py", range(7, 8), 1) == (["slow"], True)  # one is always run
    assert KNOWN.tests("m.py", range(5, 8), 5) == (["fast"], False)
    assert KNOWN.tests("m.py", None, 30) == (["fast", "slow"], True)
    assert KNOWN.tests("m.py", range(1, 3), 30) == ([], True)
    assert KNOWN.tests("other.py", None, 30) == ([], True)


def test_golden_tests_come_first_for_half_of_the_time() -> None:
    names = ["a/test_golden_x.py::one", "a/test_golden_x.py::two", "fast", "slow"]
    known = CoverageMap({"m.py": {6: names}}, {names[0]: 4.0, names[1]: 5.0, "fast": 1.0, "slow": 9.0})
    assert known.tests("m.py", None, 10) == ([names[0], "fast", names[1]], False)
    assert known.tests("m.py", None, 30) == ([*names[:2], "fast", "slow"], True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A checkout with a module and two tests of it; the second takes processor time without end if it returns 2."""
    (tmp_path / "m.py").write_text("def f():\n    return 1\n")
    tests = "import m\ndef test_a():\n    assert m.f() != 0\ndef test_b():\n    while m.f() == 2:\n        pass\n"
    (tmp_path / "test_m.py").write_text(tests)
    (tmp_path / "conftest.py").write_text(
        "from hypothesis import settings\nsettings.register_profile('mutation')\nimport sys\nsys.path.insert(0, '.')\n"
    )
    return tmp_path


def returning(number: int) -> Mutant:
    place = Place("m.py", "core/NumberReplacer", 0, 2)
    return Mutant(place, "return 1", f"return {number}", f"def f():\n    return {number}\n", range(2, 3))


@pytest.mark.parametrize(("number", "outcome"), [(0, "killed"), (1, "survived"), (2, "timeout")])
def test_a_mutant_is_noticed_by_a_failure_or_by_its_processor_time(tree: Path, number: int, outcome: Outcome) -> None:
    limit = 3.0
    assert tried(returning(number), tree, ["test_m.py"], limit) == outcome
    assert (tree / "m.py").read_text().endswith("return 1\n")


def test_a_mutant_that_not_all_tests_saw_is_unjudged(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["test_m.py::test_a", "test_m.py::test_b"]
    known = CoverageMap({"m.py": {2: names}}, {names[0]: 0.1, names[1]: 9.0})
    assert [result.outcome for result in run([returning(3)], [tree], known, 1)] == ["unjudged"]
    assert [result.outcome for result in run([returning(3)], [tree], known, 10)] == ["survived"]
    assert [result.outcome for result in run([returning(0)], [tree], known, 1)] == ["killed"]
    assert "unjudged" in capsys.readouterr().out


def test_a_map_is_kept_while_code_and_tests_are_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tests = tmp_path / "tests" / "run"
    tests.mkdir(parents=True)
    kept, measured = tmp_path / "map.json", []

    def measure(root: Path, packages: list[str]) -> CoverageMap:
        measured.append(fingerprint(root, packages))
        return CoverageMap({}, {}, measured[-1])

    monkeypatch.setattr(program, "measure", measure)
    for content, times in (("", 1), ("", 1), ("def test_new(): ...", 2), ("def test_new(): ...", 2)):
        (tests / "test_a.py").write_text(content)
        assert program.coverage_map(kept, tmp_path, ["run"]).code == measured[-1]
        assert len(measured) == times


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
