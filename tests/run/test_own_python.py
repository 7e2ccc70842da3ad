"""The step that checks the user's Python, carried out: once, said why when it fails, and again when it changed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.engine_environment import VLLM, make
from tests.run.runs import events_of, outcomes
from tests.values import plan_of
from wizard.catalog.environments import environment
from wizard.plan.plan import Step
from wizard.plan.runtimes.engine_python import check_step
from wizard.probe.engine_python import inspect


def checked(tmp_path: Path) -> Step:
    python = inspect(str(tmp_path / "venv" / "bin" / "python"))
    engine = replace(environment("vllm"), before="")  # whether there is a C compiler is not the question here
    return check_step(tmp_path / "w" / "environments", engine, python, gpus={})


def importable(venv: Path) -> None:
    """Let the module be imported that the check imports; it does nothing."""
    site = next(venv.glob("lib/python3*/site-packages"))
    (site / "vllm" / "__init__.py").write_text("")
    (site / "vllm" / "v1" / "engine").mkdir(parents=True)
    (site / "vllm" / "v1" / "engine" / "async_llm.py").write_text("")


async def test_what_cannot_be_imported_fails_before_anything_is_fetched(tmp_path: Path) -> None:
    make(tmp_path / "venv", VLLM)
    events, error = await events_of(plan_of(tmp_path / "w", checked(tmp_path)))
    assert outcomes(events) == {"engine-environment": "failed"}
    assert "vllm was imported" in str(error)


async def test_it_is_done_once_for_all_servers_until_a_package_changes(tmp_path: Path) -> None:
    make(tmp_path / "venv", VLLM)
    importable(tmp_path / "venv")
    for name, outcome in (("one", "done"), ("one", "skipped"), ("two", "skipped")):
        events, _ = await events_of(plan_of(tmp_path / "w", checked(tmp_path), name=name))
        assert outcomes(events) == {"engine-environment": outcome}
    about = next((tmp_path / "venv").glob("lib/python3*/site-packages/transformers-*/METADATA"))
    about.write_text(about.read_text().replace("5.17.0", "5.18.0"))
    events, _ = await events_of(plan_of(tmp_path / "w", checked(tmp_path)))
    assert outcomes(events) == {"engine-environment": "done"}
