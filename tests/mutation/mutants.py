"""The mutants of a module: one small fault each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.coverage_map import span

COMPARISONS = (
    *("Lt_LtE", "LtE_Lt", "Gt_GtE", "GtE_Gt", "Lt_GtE", "Gt_LtE", "LtE_Gt", "GtE_Lt"),
    *("Eq_NotEq", "NotEq_Eq", "Is_IsNot", "IsNot_Is"),
)
BINARY = ("Add_Sub", "Sub_Add", "Mul_Add", "Div_Mul", "FloorDiv_Mul", "Mod_Add", "BitOr_BitAnd", "BitAnd_BitOr")
OPERATORS = (
    *("core/NumberReplacer", "core/ReplaceTrueWithFalse", "core/ReplaceFalseWithTrue", "core/AddNot"),
    *("core/ReplaceAndWithOr", "core/ReplaceOrWithAnd", "core/ZeroIterationForLoop", "core/ExceptionReplacer"),
    *("core/ReplaceBreakWithContinue", "core/ReplaceContinueWithBreak"),
    *(f"core/ReplaceComparisonOperator_{pair}" for pair in COMPARISONS),
    *(f"core/ReplaceBinaryOperator_{pair}" for pair in BINARY),
)
"""cosmic-ray's, with the neighbours and the opposite of an operator instead of every other: ``<`` becomes ``<=`` and
``>=``, and not also ``==``, ``!=``, ``is`` and so on, which nobody mistypes and which the same tests notice."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where one fault can be.

    Attributes:
        module: Path below the checkout.
        operator: cosmic-ray's name of it.
        occurrence: Which of the operator's places in the module.
        line: Where it is.
    """

    module: str
    operator: str
    occurrence: int
    line: int


@dataclass(frozen=True, slots=True)
class Mutant:
    """One fault.

    Attributes:
        place: Where it is.
        before: The line as it is.
        after: The same with the fault.
        code: The whole module with the fault.
        statement: Lines of the statement of a function that it is in; None: executed on import.
    """

    place: Place
    before: str
    after: str
    code: str
    statement: range | None


def places(root: Path, module: str) -> Iterator[Place]:
    """Every place of ``module`` for a fault; `mutant` takes far longer, so a sample is drawn from these."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    code = (root / module).read_text(encoding="utf-8")
    tree = ast.parse(code)
    nodes = list(ast_nodes(get_ast(code)))
    for name in OPERATORS:
        operator = get_operator(name)()
        starts = [start for node in nodes for start, _end in operator.mutation_positions(node)]
        for occurrence, (line, column) in enumerate(starts):
            if not annotates(tree, line, column) and not declares(tree, line):
                yield Place(module, name, occurrence, line)


def mutant(root: Path, place: Place) -> Mutant | None:
    """The fault at ``place``; None if cosmic-ray changes nothing there."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    code = (root / place.module).read_text(encoding="utf-8")
    try:
        mutated = mutate_code(code, get_operator(place.operator)(), place.occurrence)
    except AttributeError:
        return None  # cosmic-ray 8.7 replaces only plain names in ``except``, not ``http.HTTPError``
    if mutated is None or mutated == code:
        return None
    before, after = (text.splitlines()[place.line - 1].strip() for text in (code, mutated))
    return Mutant(place, before, after, mutated, span(ast.parse(code), place.line))


def declares(tree: ast.Module, line: int) -> bool:
    """Whether the line says ``@dataclass(frozen=True, slots=True)``: `tests.test_house` reads that, no test runs it."""
    decorators = (each for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for each in node.decorator_list)
    return any(each.lineno == line for each in decorators)


def annotates(tree: ast.Module, line: int, column: int) -> bool:
    """Whether the place is in an annotation, which nothing executes."""
    annotations: list[ast.expr | None] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            annotations.append(node.returns)
        elif isinstance(node, (ast.arg, ast.AnnAssign)):
            annotations.append(node.annotation)
    return any(
        (each.lineno, each.col_offset) <= (line, column) < (each.end_lineno or 0, each.end_col_offset or 0)
        for each in annotations
        if each
    )
