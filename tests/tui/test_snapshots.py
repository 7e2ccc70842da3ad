"""Pictures of what can look wrong (which: `tests.tui`). After a change that is meant:
``pytest tests/tui/test_snapshots.py --snapshot-update``, then look at every changed picture."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.tui.pictured import STATES
from tests.tui.walking import StillApp
from wizard.catalog import stacks
from wizard.kernel import settings
from wizard.kernel.settings import THEME
from wizard.tui.theme import CONTRAST

NARROW, MEDIUM, WIDE = (40, 15), (80, 24), (120, 40)
LARGE = (200, 60)
STACKS = ("vllm", "trtllm-llmapi", "trtllm-engine", "transformers", "sglang", "llamacpp")
MAIN = ("welcome", "machine_with_gpus", "model", "advice_gpus", "review", "build", "chat_answer", "settings")
"""One state of each stage."""
PLACED = (
    *("welcome_help", "recipes", "keys", "keys_press", "review_export", "advice_constraints"),
    *("machine_explained", "chat_conversations", "chat_compare", "chat_racing", "chat_log", "chat_logprobs"),
)
"""Windows, and panels beside or below something."""
DRAWN = (
    *("machine_one_gpu_at_work", "machine_eight_gpus", "model_verdicts", "model_error", "model_token"),
    *("advice_what_if", "advice_infeasible", "build_failed", "build_ready", "build_search", "build_diagnosis"),
    *("welcome_building", "chat_error", "chat_code_and_table", "chat_streaming"),
)
"""Graphs, colours, marks and boxes that no other picture has."""
CASES = [
    *((name, size, THEME) for name in MAIN for size in (NARROW, MEDIUM, WIDE, LARGE)),
    *((name, MEDIUM, CONTRAST.name) for name in (*MAIN, "chat_racing")),
    *((name, size, THEME) for name in PLACED for size in (NARROW, MEDIUM, WIDE)),
    *((name, MEDIUM, THEME) for name in DRAWN),
]


def case(name: str, size: tuple[int, int], theme: str) -> str:
    width, height = size
    return f"{name}-{width}x{height}" + "-contrast" * (theme == CONTRAST.name)


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The program is on PATH; commands would name where it is otherwise."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture(autouse=True)
def same_stacks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Those that the pictures list, so that a further one changes none."""
    known = {name: path for name, path in stacks.files().items() if name in STACKS}
    with monkeypatch.context() as patched:
        patched.setattr(stacks, "files", lambda: known)
        stacks.forget()
        yield
    stacks.forget()


@pytest.mark.parametrize(("name", "size", "theme"), [pytest.param(*each, id=case(*each)) for each in CASES])
def test_picture(snap_compare: Callable[..., bool], name: str, size: tuple[int, int], theme: str) -> None:
    if theme != THEME:
        settings.change(theme=theme)
    journey, walk = STATES[name]
    assert snap_compare(StillApp(journey()), terminal_size=size, run_before=walk)


def test_no_picture_is_left_over() -> None:
    folder = Path(__file__).parent / "__snapshots__" / "test_snapshots"
    assert {path.stem for path in folder.iterdir()} == {f"test_picture[{case(*each)}]" for each in CASES}
