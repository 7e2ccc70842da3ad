"""Which image a name stands for, from what the engines print; `tests/e2e/test_docker.py` asks a real one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from wizard.kernel.errors import StepError
from wizard.plan.plan import Image
from wizard.run.image import exact

FAKE_ENGINE = """#!/bin/sh
# FakeEngine: prints what podman-image-inspect(1) and docker's ImageInspect have, for any image
{errors}
cat <<'END'
{output}
END
exit {status}
"""
NAME = "nvcr.io/nvidia/tritonserver:26.07-vllm-python-py3"
ID, DIGEST, OLD = "37e5619f4a8c" + 52 * "0", "sha256:1b0d4ddd99b1" + 52 * "0", "sha256:b5290db40008" + 52 * "0"
INSPECTED = {
    "Id": ID,
    "Digest": DIGEST,
    "RepoTags": [NAME],
    "RepoDigests": [
        f"mirror.example/nvidia/tritonserver@{OLD}",
        f"nvcr.io/nvidia/tritonserver@{DIGEST}",
        f"nvcr.io/nvidia/tritonserver@{OLD}",
    ],
    "Size": 183852302,
}


@pytest.fixture
def inspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def made(output: str, *, errors: str = "", status: int = 0) -> None:
        for name in ("docker", "podman"):
            (tmp_path / name).write_text(FAKE_ENGINE.format(output=output, errors=errors, status=status))
            (tmp_path / name).chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    return made


async def test_an_image_from_a_registry_has_its_digest(inspect: Callable[..., None]) -> None:
    inspect(json.dumps([INSPECTED], indent=4), errors="echo 'WARN[0000] [\"/\"] is not a shared mount' >&2")
    identified = await exact(Image("podman", NAME))
    assert (identified.name, identified.id, identified.size) == (NAME, f"sha256:{ID}", 183852302)
    assert identified.reference == f"{NAME}@{DIGEST}"
    assert identified.state == (183852302, 0x37E5619F4A8C)
    assert (await exact(Image("podman", f"{NAME}@{OLD}"))).reference == f"{NAME}@{OLD}"
    untagged = await exact(Image("podman", "mirror.example/nvidia/tritonserver"))
    assert untagged.reference == f"mirror.example/nvidia/tritonserver@{OLD}"


@pytest.mark.parametrize("digests", [[], None, [f"localhost:5000/tritonserver@{DIGEST}"]])
async def test_an_image_from_no_registry_has_only_its_id(
    inspect: Callable[..., None], digests: list[str] | None
) -> None:
    inspect(json.dumps([{**INSPECTED, "Id": f"sha256:{ID}", "RepoDigests": digests}], indent=4))
    identified = await exact(Image("docker", NAME))
    assert (identified.id, identified.reference) == (f"sha256:{ID}", NAME)


@pytest.mark.parametrize(
    ("output", "why"),
    [
        ("[]\nError: No such image: x", "No such image: x"),
        ("", "exit status 1"),
        ("[\n{}\n]", "]"),
        ('[\n{"Id": "37e5", "Size": 1, "RepoDigests": []}\n]', "]"),
        ("[\n1\n]", "]"),
    ],
)
async def test_one_that_cannot_be_identified_is_an_error(inspect: Callable[..., None], output: str, why: str) -> None:
    inspect(output, status=1)
    with pytest.raises(StepError, match="cannot identify the image") as caught:
        await exact(Image("docker", NAME))
    assert caught.value.code == "TW-R110"
    assert caught.value.what.endswith(why)


async def test_an_engine_that_is_gone_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StepError, match="No such file or directory"):
        await exact(Image("docker", NAME))


@pytest.mark.parametrize(
    ("engine", "name"), [("/tmp/evil", NAME), ("docker", ""), ("docker", "--all"), ("podman", "a\0")]
)
def test_a_plan_cannot_name_another_program(engine: str, name: str) -> None:
    with pytest.raises(ValueError, match="image"):
        Image(engine, name)
