"""The house's rules at run time: what importing each part really loads (import-linter reads only the source)."""

from __future__ import annotations

import ast
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wizard
from wizard.catalog import stacks

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CHECKOUT = Path(__file__).resolve().parent.parent
TOOLKITS = {"textual", "questionary", "prompt_toolkit", "IPython", "ipywidgets", "ipykernel"}
SDKS = {"huggingface_hub", "httpx2", "tritonclient", "pynvml", "transformers", "tokenizers", "jinja2", "grpc", "numpy"}
WEB = {"starlette", "uvicorn", "httptools"}
"""The web server, only in the gateway's own process."""
ENGINES = {
    *("torch", "xllamacpp", "triton_python_backend_utils"),
    *(package for name in stacks.names() if (native := stacks.facts(name).native) for package in native.packages),
}
"""What runs in environments of its own, never in the wizard's process."""
HEAVY = TOOLKITS | SDKS | WEB | ENGINES | {"pydantic", "asyncio", "http.client", "ssl"}
"""What neither ``import wizard`` nor ``triton-wizard --help`` may load."""

OPTIONAL = {"wizard.tui.web.server", "wizard.repository.engine_process"}
"""What cannot be imported just so: `triton-wizard web` alone imports the first, which needs an extra, and says what is
missing; engine programs the second, from its folder.
"""
INTERFACES = {"wizard.tui", "wizard.prompts", "wizard.notebook"}
"""The parts that may load a toolkit."""


def layers() -> list[list[str]]:
    """The layers of the house, top first, as import-linter is told them."""
    settings: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    rows = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[name.strip() for name in row.split("|")] for row in rows]


PARTS = [part for row in layers() for part in row]


def modules(part: str) -> list[str]:
    """All modules of a part; not the Python-backend models that we ship, which only Triton's interpreter can import."""
    top = Path(wizard.__file__).parent
    folder = top.joinpath(*part.split(".")[1:])
    names = [part]
    if folder.is_dir():
        names += [module.name for module in pkgutil.walk_packages([str(folder)], part + ".")]
    return [name for name in names if "import triton_python_backend_utils" not in source(name)]


def source(module: str) -> str:
    path = Path(wizard.__file__).parent.joinpath(*module.split(".")[1:])
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(encoding="utf-8")


def loaded_by(code: str) -> set[str]:
    """Names in ``sys.modules`` of a fresh interpreter after ``code``."""
    program = f"import sys\n{code}\nprint('\\n' + __import__('json').dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def of(names: set[str], wanted: set[str]) -> list[str]:
    """Those of ``names`` that are one of ``wanted`` or lie inside one."""
    return sorted(name for name in names if any(name == each or name.startswith(each + ".") for each in wanted))


def test_the_layers_are_all_the_parts_there_are() -> None:
    top = Path(wizard.__file__).parent
    there = {
        "wizard." + path.stem
        for path in top.iterdir()
        if (path / "__init__.py").exists() or (path.suffix == ".py" and not path.stem.startswith("_"))
    }
    assert there == set(PARTS)


def test_http_goes_only_through_the_kernel() -> None:
    """The models that we ship run in Triton's interpreter, which has nothing but the standard library."""
    clients = re.compile(r"^\s*(?:import|from) (?:http\.client|urllib\.request|httpx2?|requests)\b", re.MULTILINE)
    assert [name for part in PARTS for name in modules(part) if clients.search(source(name))] == ["wizard.kernel.http"]


def imported(tree: ast.AST, names: set[str]) -> Iterator[str]:
    """Those of ``names`` that the code imports, inside functions too; not for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "imports are absolute"
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield from {submodule if submodule in names else str(node.module)} & names
        else:
            yield from imported(node, names)


def test_the_four_walks_only_render_the_flow() -> None:
    """What all of them would do is in `wizard.flow`; more than 700 lines together means that it is done four times."""
    walks = ("cli/walk.py", "prompts/flow.py", "tui/flow.py", "notebook/walk.py")
    lines = {name: len((CHECKOUT / "wizard" / name).read_text(encoding="utf-8").splitlines()) for name in walks}
    assert sum(lines.values()) <= 700, lines


def test_no_modules_import_each_other_in_a_circle() -> None:
    names = {name for part in PARTS for name in modules(part)}
    imports = {name: {*imported(ast.parse(source(name)), names)} - {name} for name in names}
    while leaves := {name for name, others in imports.items() if not others & imports.keys()}:
        for name in leaves:
            del imports[name]
    assert not imports, {name: sorted(others & imports.keys()) for name, others in imports.items()}


def test_no_module_imports_an_engine() -> None:
    assert {"vllm", "sglang", "tensorrt_llm"} <= ENGINES
    trees = {name: ast.parse(source(name)) for part in PARTS for name in modules(part)}
    tops = {
        name: {
            (node.module or "").partition(".")[0] if isinstance(node, ast.ImportFrom) else alias.name.partition(".")[0]
            for node in ast.walk(tree)
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }
        for name, tree in trees.items()
    }
    assert {name: tops[name] & ENGINES for name in tops if tops[name] & ENGINES} == {}


def test_import_wizard_loads_nothing_heavy() -> None:
    assert of(loaded_by("import wizard"), HEAVY) == []


def test_import_wizard_loads_no_part_of_it() -> None:
    assert [name for name in loaded_by("import wizard") if name.startswith("wizard.")] == []


def test_help_loads_nothing_heavy() -> None:
    code = "from wizard.cli import main\ntry:\n    main(['--help'])\nexcept SystemExit as end:\n    assert not end.code"
    assert of(loaded_by(code), HEAVY) == []


@pytest.mark.parametrize("part", PARTS)
def test_a_part_loads_no_sdk_and_nothing_above_it(part: str) -> None:
    rows = layers()
    row = next(index for index, names in enumerate(rows) if part in names)
    above = {name for names in rows[:row] for name in names}
    beside = set(rows[row]) - {part}
    names = loaded_by("\n".join(f"import {name}" for name in modules(part) if name not in OPTIONAL))
    toolkits = set() if part in INTERFACES else TOOLKITS
    web = set() if part == "wizard.gateway" else WEB
    assert of(names, toolkits | SDKS | ENGINES | web | above | beside) == []


VAGUE = {"one", "found", "said", "told", "wished", "heard", "what", "way", "ways", "every", "whose"}
"""Names that say nothing of what they hold: a candidate, a choice, a release, an event, a reply …"""
WRITTEN = {
    ("docs/schemas.py", "what"),
    ("wizard/plan/prerequisites.py", "found"),
    ("wizard/catalog/explanations.py", "what"),
    ("wizard/kernel/errors.py", "what"),
    ("wizard/run/build.py", "what"),
    ("wizard/probe/host.py", "what"),
    ("wizard/repository/linting/finding.py", "what"),
}
"""Fields that are written as JSON or read from a profile: these keep their names."""
FOLDERS = (".ci", "wizard", "tests", "benchmarks", "docs", "translations", "training", "requirements")
"""Where code lies; `bootstrap.py` is at the top."""


def names_bound(tree: ast.AST) -> Iterator[str]:
    """Every name that a module gives: to variables, parameters, loop targets, fields, functions, and imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            yield node.name


def code_files() -> list[Path]:
    """Every Python file of the checkout."""
    return sorted([*CHECKOUT.glob("*.py"), *(path for folder in FOLDERS for path in (CHECKOUT / folder).rglob("*.py"))])


def test_names_are_nouns_of_the_field() -> None:
    vague = set()
    for path in code_files():
        file = path.relative_to(CHECKOUT).as_posix()
        for name in names_bound(ast.parse(path.read_text(encoding="utf-8"))):
            if name.strip("_") in VAGUE and (file, name) not in WRITTEN:
                vague.add((file, name))
    assert sorted(vague) == []


def test_every_folder_with_code_is_checked_for_its_names() -> None:
    assert {path.relative_to(CHECKOUT).parts[0] for path in code_files()} >= set(FOLDERS)
    names = names_bound(ast.parse("def one(found): import told as said"))
    assert VAGUE & set(names) == {"one", "found", "said"}


COUNTERS = {
    "Budget",
    "Held",
    "Meter",
    "_Part",
    "ChatSession",
    "Consent",
    "ToolUse",
    "_Run",
    "Answer",
    "_Choice",
    "Gateway",
    "Server",
    "Servers",
    "Metrics",
    "Figures",
    "Histogram",
    "Recorder",
    "Subject",
    "Place",
    "Turns",
    "Search",
    "Life",
    "Keeper",
    "Symptoms",
}
"""Data classes that count or collect while something runs; every other one is a value."""
IN_ENGINES = {"Question", "Settings"}
"""Values in programs for the Pythons of engines: frozen, without ``slots``."""


def test_every_data_class_is_a_value_or_a_counter() -> None:
    flags = {
        (node.name, ast.unparse(decorator))
        for path in (CHECKOUT / "wizard").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for decorator in (node.decorator_list if isinstance(node, ast.ClassDef) else ())
        if ast.unparse(decorator).startswith("dataclass")
    }
    assert len(flags) > 100
    assert {(name, flag) for name, flag in flags if flag != "dataclass(frozen=True, slots=True)"} == {
        *((name, "dataclass(slots=True)") for name in COUNTERS),
        *((name, "dataclass(frozen=True)") for name in IN_ENGINES),
    }
