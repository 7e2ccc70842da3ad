"""The façade: what is offered to a user who named nothing, online and offline."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tests.advise.worlds import CONFIGS
from tests.chain_model import write_chain_model
from tests.model.fake_hub import FakeHub, FakeRepo
from tests.values import CHOICE, CPU_HOST, GGUF, plan_of
from wizard import journey
from wizard.advise.advice import Constraints
from wizard.kernel import proctable
from wizard.kernel.errors import UsageError
from wizard.kernel.paths import Workspace
from wizard.kernel.values import to_json
from wizard.plan.plan import Start
from wizard.plan.ports import Ports
from wizard.probe import shorthand
from wizard.probe.ports import choose
from wizard.serve import find
from wizard.serve.endpoint import Endpoint


@pytest.fixture
def weights(tmp_path: Path) -> bytes:
    return write_chain_model(tmp_path / "chain.gguf").read_bytes()


def test_where_the_hub_answers_a_real_small_model_comes_first(weights: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    default = journey.suggestions(CPU_HOST, ask=False)[0].ref  # this hub has its GGUF file in place of its weights
    repos = {default: FakeRepo({"chat.gguf": weights}, {"cardData": {"license": "apache-2.0"}})}
    with FakeHub(repos) as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.url)
        first, *others = journey.suggestions(CPU_HOST)
    assert first.ref == default
    assert first.verdict is not None
    assert first.download_bytes
    assert first.usable
    assert "demo" in [other.ref for other in others]
    assert all(other.why_not for other in others if not other.usable)  # what this hub has not is shown last, and why


def test_without_a_hub_the_offline_demo_comes_first() -> None:
    first, *others = journey.suggestions(CPU_HOST, offline=True)
    assert (first.ref, first.usable, first.needs_network, first.download_bytes) == ("demo", True, False, 0)
    assert "First because the Hub is not contacted" in first.about
    assert all(other.needs_network for other in others)
    unknown = [other for other in others if other.verdict is None]
    assert {(other.usable, other.why_not) for other in unknown} == {(False, "the Hub is not contacted (--offline)")}
    silent = journey.suggestions(CPU_HOST)  # the tests' hub is a port where nobody listens
    assert "First because the Hugging Face Hub does not respond" in silent[0].about


@pytest.fixture
def served(tmp_path: Path) -> Workspace:
    """A workspace whose server ``foo`` runs (this very process stands for it) and was made from a/foo."""
    workspace = Workspace(tmp_path / "w")
    facts = replace(GGUF, ref="a/foo", source="hub")
    made = journey.plan(CPU_HOST, facts, CHOICE, workspace)
    workspace.server("foo").root.mkdir(parents=True)
    workspace.server("foo").plan.write_text(to_json(made))
    me = proctable.read(os.getpid())
    assert me is not None
    find.write(workspace.server("foo"), Endpoint("foo", "foo", "127.0.0.1", Ports(9, 10, 11), me.pid, me.started, ""))
    return workspace


def test_another_model_does_not_take_the_name_of_a_running_server(served: Workspace) -> None:
    with pytest.raises(UsageError, match="serves a/foo") as caught:
        journey.plan(CPU_HOST, replace(GGUF, ref="b/foo", source="hub"), CHOICE, served)
    assert caught.value.code == "TW-L04"
    assert journey.plan(CPU_HOST, replace(GGUF, ref="b/foo", source="hub"), CHOICE, served, name="foo")  # on purpose


def test_a_running_server_keeps_its_ports_and_the_plan_announces_a_restart(served: Workspace) -> None:
    made = journey.plan(CPU_HOST, replace(GGUF, ref="a/foo", source="hub"), replace(CHOICE, max_seq_len=512), served)
    (start,) = [action for step in made.steps for action in step.actions if isinstance(action, Start)]
    assert start.ports == Ports(9, 10, 11)
    assert "the plan restarts it with these" in made.notes[0]


def test_a_stopped_server_comes_back_on_its_ports(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "w")
    port = choose(19340, "127.0.0.1", set())
    made = journey.plan(CPU_HOST, replace(GGUF, ref="a/foo"), CHOICE, workspace, http_port=port)
    workspace.server("foo").root.mkdir(parents=True)
    workspace.server("foo").plan.write_text(to_json(made))
    again = journey.plan(CPU_HOST, replace(GGUF, ref="a/foo"), CHOICE, workspace)
    assert again.fingerprint == made.fingerprint


def test_a_name_that_is_no_server_is_not_stopped(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        journey.stop(Workspace(tmp_path), "nosuch")
    assert caught.value.code == "TW-S09"


def test_a_machine_that_can_serve_nothing_says_so_for_each() -> None:
    host = replace(CPU_HOST, memory_available_bytes=1_000_000)
    assert not any(suggestion.usable for suggestion in journey.suggestions(host, offline=True))
    assert all(suggestion.why_not for suggestion in journey.suggestions(host, offline=True))


def test_with_a_gpu_what_only_its_stacks_serve_is_offered_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A recipe whose model only a GPU's stack can serve."""
    (tmp_path / "recipes").mkdir()
    (tmp_path / "models" / "small").mkdir(parents=True)
    (tmp_path / "models" / "small" / "config.json").write_text(json.dumps(CONFIGS["Qwen/Qwen3-0.6B"]))
    text = 'title = "Small"\nabout = "a"\nmodel = "models/small"\nsource = "here"\nneeds_network = false\n'
    (tmp_path / "recipes" / "small.toml").write_text(text)
    monkeypatch.setenv("TRITON_WIZARD_PROFILES", str(tmp_path))
    host = shorthand.host("1xH100")
    assert journey.advise(host, journey.model("small"), Constraints()).feasible
    offered = {suggestion.ref: suggestion for suggestion in journey.suggestions(host, offline=True)}
    assert offered["demo"].usable
    assert (offered["small"].usable, offered["small"].why_not) == (True, None)


def test_a_servers_name_leads_to_what_it_was_made_from(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    plan = plan_of(tmp_path, name="mine")
    workspace.server("mine").root.mkdir(parents=True)
    workspace.server("mine").plan.write_text(
        to_json(replace(plan, facts=replace(plan.facts, ref="org/name", source="hub")))
    )
    assert journey.earlier_model(workspace, "mine") == "org/name"
    assert journey.earlier_model(workspace, "other") is None
    assert journey.earlier_model(workspace, "demo") is None


def test_a_relative_path_names_the_same_file_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace, made = Workspace(tmp_path / "w"), []
    for name in ("first", "second"):
        folder = tmp_path / name / "my models"
        folder.mkdir(parents=True)
        write_chain_model(folder / "m.gguf")
        monkeypatch.chdir(folder)
        made.append(journey.plan(CPU_HOST, journey.model("./m.gguf"), CHOICE, workspace))
    link, other = (next(step for step in plan.steps if step.id == "model").done for plan in made)
    assert link != other  # each has its own link in the workspace
    workspace.server("m").root.mkdir(parents=True)
    workspace.server("m").plan.write_text(to_json(made[0]))
    assert journey.earlier_model(workspace, "m") == str(tmp_path / "first" / "my models" / "m.gguf")
