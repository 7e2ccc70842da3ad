"""NVIDIA's scripts of one release: from the two repositories at its tag, or from the image if it has them.

They are copied to a folder of the server, so that later commands use the same paths regardless of their origin.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from wizard.catalog.trtllm_tools import Sources, tools, version_of
from wizard.kernel.language import tr
from wizard.plan.artefacts import SCRIPTS
from wizard.plan.plan import Action, Command, Done, Estimate, Step, Write
from wizard.plan.runtimes.runtime import Runtime

_FIRST_OF = """to=$0
for from in "$@"; do [ -d "$from" ] && rm -rf "$to" && exec cp -rT "$from" "$to"; done
echo "none of these is in the image: $*" >&2
exit 1"""


def folder(runtime: Runtime) -> Path:
    """Target folder of the scripts: ``examples``, ``all_models``, ``scripts``, and ours beside them."""
    return runtime.server.root / "tools"


def step(runtime: Runtime, version: str, parts: Mapping[str, str], *more: Action) -> Step:
    """The step that gets scripts.

    Args:
        runtime: The runtime of the commands.
        version: TensorRT-LLM's version.
        parts: ``examples``, ``all_models`` or ``scripts``, each with a file in it that is needed later.
        more: Actions to run afterwards.
    """
    sources = tools().sources_of(version)
    root = folder(runtime)
    bring = _copied(runtime, sources, root, [*parts]) if sources.in_image else _cloned(sources, root, version, [*parts])
    origin = (
        tr("the image itself")
        if sources.in_image
        else tr("the TensorRT-LLM repositories at tag v{tag}", tag=_tag(version))
    )
    return Step(
        id="sources",
        title=tr("Get TensorRT-LLM's scripts"),
        why=(
            tr(
                "The scripts for conversion, quantization and the engine test, and the Python models around the "
                "engine, come from NVIDIA and change with every release. They are taken from {origin}, so they "
                "match the image's TensorRT-LLM version.",
                origin=origin,
            )
        ),
        actions=(Command(("mkdir", "-p", str(root), str(runtime.workspace.models))), *bring, *more),
        done=Done(files=tuple(str(root / part / file) for part, file in parts.items())),
        estimate=Estimate(0, unknown=True),
        reads=runtime.needs,
        writes=(SCRIPTS,),
    )


def ours(runtime: Runtime, script: Path) -> Write:
    """Copy our own ``script``, which runs in the image with nothing but Python."""
    return Write(str(folder(runtime) / script.name), script.read_text(encoding="utf-8"))


def _cloned(sources: Sources, root: Path, version: str, parts: Sequence[str]) -> list[Command]:
    made: list[Command] = []
    for url, folders in ((sources.examples, ("examples",)), (sources.backend, ("all_models", "scripts"))):
        needed = [part for part in folders if part in parts]
        if needed:
            made += _clone(url, root, version, needed)
    return made


def _clone(url: str, root: Path, version: str, parts: Sequence[str]) -> list[Command]:
    # The histories are hundreds of MiB and the libraries are in Git LFS: only one commit of these folders is fetched.
    target = root / url.rsplit("/", 1)[-1].removesuffix(".git")
    light = ("--depth", "1", "--filter=blob:none", "--sparse")
    env = (("GIT_LFS_SKIP_SMUDGE", "1"), ("GIT_TERMINAL_PROMPT", "0"))
    where = ("git", "-C", str(target))
    return [
        Command(("rm", "-rf", str(target), *(str(root / part) for part in parts))),
        Command(
            ("git", "clone", *light, "--branch", f"v{_tag(version)}", url, str(target)),
            env=env,
        ),
        Command((*where, "sparse-checkout", "set", *parts), env=env),
        Command(("mv", *(str(target / part) for part in parts), str(root))),
        Command(("rm", "-rf", str(target))),
    ]


def _copied(runtime: Runtime, sources: Sources, root: Path, parts: Sequence[str]) -> list[Command]:
    return [
        runtime.command(
            "sources", ("sh", "-c", _FIRST_OF, str(root / part), *_places(sources, part)), writes=(runtime.server.root,)
        )
        for part in parts
    ]


def _places(sources: Sources, part: str) -> tuple[str, ...]:
    return sources.examples_in_image if part == "examples" else tuple(f"{place}/{part}" for place in sources.in_image)


def _tag(version: str) -> str:
    """``0.17.0.post1`` was built from the tag 0.17.0."""
    return ".".join(map(str, version_of(version)))
