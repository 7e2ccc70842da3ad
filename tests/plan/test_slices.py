"""How a runtime is given MIG slices: by UUID, and podman by CDI's names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.advise.worlds import sliced
from tests.plan.stack_values import IN_IMAGE, TRANSFORMERS, VLLM, engine, planned
from tests.values import PYTHON
from wizard.advise.advice import Choice
from wizard.kernel.paths import Workspace
from wizard.plan.runtimes.docker import Docker
from wizard.plan.runtimes.select import runtime_of
from wizard.plan.runtimes.venv import environment_changes, replicas
from wizard.probe.host import ContainerEngine

HOST = sliced("2xA100", "3g.40gb", 40 << 30, 2)
BOTH = {"devices": (0, 1), "slices": ("MIG-0-1", "MIG-1-0"), "replicas": 2}
ENGINES = tuple(ContainerEngine(name, "5.0", "5.0", nvidia_runtime=True) for name in ("docker", "podman"))


def container(choice: Choice) -> tuple[str, ...]:
    workspace = Workspace(Path("/w"))
    runtime = runtime_of(replace(HOST, engines=ENGINES), choice, workspace, workspace.server("s"))
    assert isinstance(runtime, Docker)
    return tuple(word for word in runtime.command("s", ("true",), gpus=2).argv if "gpu" in word)


def test_a_container_gets_the_slices_of_all_replicas() -> None:
    assert container(replace(IN_IMAGE, **BOTH)) == ('--gpus="device=MIG-0-1,MIG-1-0"',)
    podman = replace(IN_IMAGE, runtime="podman", **BOTH)
    assert container(podman) == ("--device=nvidia.com/gpu=0:1", "--device=nvidia.com/gpu=1:0")


@pytest.mark.parametrize("choice", [VLLM, IN_IMAGE])
def test_each_replica_sees_its_slice_alone_by_the_same_name_in_a_container(choice: Choice) -> None:
    each = [own["CUDA_VISIBLE_DEVICES"] for own in replicas(replace(choice, **BOTH))]
    assert each == ["MIG-0-1", "MIG-1-0"]


def test_an_engine_beside_triton_sees_its_slice_by_uuid() -> None:
    changes = {"devices": (1,), "slices": ("MIG-1-0",)}
    assert environment_changes("/e/bin/python", replace(VLLM, **changes))["CUDA_VISIBLE_DEVICES"] == "MIG-1-0"
    _, _, variables = engine(planned(replace(TRANSFORMERS, **changes), on=replace(HOST, interpreters=(PYTHON,))))
    assert variables["CUDA_VISIBLE_DEVICES"] == "MIG-1-0"
