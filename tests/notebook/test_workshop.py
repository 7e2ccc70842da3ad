"""A seat's notebook follows the workshop file: its ports, workspace and language; the cells give all other answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from wizard import Journey
from wizard.kernel import language
from wizard.kernel.errors import UsageError
from wizard.kernel.paths import default_workspace
from wizard.plan.plan import Start
from wizard.workshop.progress import SEAT, WORKSHOP


@pytest.fixture
def share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "share"
    folder.mkdir()
    monkeypatch.setenv(WORKSHOP, str(folder))
    monkeypatch.setenv(SEAT, "3")
    return folder


def ports(journey: Journey, http_port: int | None = None) -> list[int]:
    plan = journey.plan(http_port=http_port)
    return [action.ports.http for step in plan.steps for action in step.actions if isinstance(action, Start)]


def test_each_seat_has_its_own_ports(share: Path, tmp_path: Path) -> None:
    (share / "workshop.toml").write_text('title = "Lab"\nports_per_seat = 100\n[pin]\nhttp_port = 23000\n')
    journey = Journey("demo", workspace=tmp_path / "ws")
    assert ports(journey) == [23300]
    assert ports(journey, 24500) == [24500]
    assert ports(journey) == [23300]


def test_seats_of_one_account_have_their_own_workspaces_also_after_a_restart(share: Path, tmp_path: Path) -> None:
    (share / "workshop.toml").write_text('title = "Lab"\nshared_workspace = true\n')
    mine = default_workspace().with_name(f"{default_workspace().name}-seat-3").resolve()
    assert Journey("demo").workspace.root == mine
    assert Journey("demo", workspace=tmp_path / "ws").workspace.root == (tmp_path / "ws").resolve()
    with pytest.raises(UsageError, match=f"TW-N10: there is no build or server in {mine}"):
        Journey.attach()


def test_the_language_is_the_workshops_unless_a_cell_chooses_one(share: Path) -> None:
    (share / "workshop.toml").write_text('title = "Lab"\nlanguage = "ko"\n')
    try:
        Journey("demo")
        assert language.used() == "ko"
        Journey("demo", language="en")
        assert language.used() == "en"
    finally:
        language.use("en")


def test_a_pinned_model_leaves_the_notebooks_their_own(share: Path) -> None:
    (share / "workshop.toml").write_text('title = "Lab"\n[pin]\nmodel = "demo"\n')
    assert Journey("Qwen/Qwen3-8B", hardware="1xL4", offline=True).advise().feasible


def test_a_mistake_in_the_file_is_reported_at_once(share: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (share / "workshop.toml").write_text('titel = "Lab"\n')
    with pytest.raises(UsageError, match="TW-D21"):
        Journey("demo")
    (share / "workshop.toml").write_text('title = "Lab"\nports_per_seat = 10\n')
    monkeypatch.setenv(SEAT, "three")
    with pytest.raises(UsageError, match="TW-U53"):
        Journey("demo")
