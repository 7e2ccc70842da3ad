"""Which release runs here: driver, CUDA, image, engine, model, format and GPU, resolved with an explanation. Pure.

A release is taken if no link of the chain is broken. The newest one that the driver runs as it is goes before those
that it runs by forward compatibility only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wizard.advise import rules
from wizard.advise.advice import Note
from wizard.advise.compatibility import Obstacle, obstacles
from wizard.advise.devices import Device
from wizard.advise.setup import Setup
from wizard.catalog.environments import Environment, environment
from wizard.catalog.releases import NONE, Floors, Images, Release, architectures, drivers, images, version
from wizard.catalog.trtllm_tools import tools
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

IMAGES = {"vllm": "vllm", "trtllm-llmapi": "trtllm", "trtllm-engine": "trtllm", "transformers": "vllm"}
"""Stack → whose images serve it. Transformers brings its own packages, for which any image with Triton will do."""
COLUMNS = {"vllm": "vllm", "trtllm-llmapi": "llm_api", "trtllm-engine": "trtllm", "transformers": "transformers"}
"""Stack → its column of `Floors`."""
NATIVE = ("vllm", "transformers")
"""Stacks that are served without containers too."""
NATIVE_GPU = (7, 5)
"""Oldest GPU of the native environments: PyTorch's builds for CUDA 12.8 and later begin at Turing, as in `rules`."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What serves.

    Attributes:
        runtime: ``docker`` or ``native``.
        release: As in `Choice.release`.
        reason: The chain in one sentence.
        warnings: What works and should be known.
    """

    runtime: str
    release: str
    reason: Note
    warnings: tuple[Note, ...] = ()


def resolve(
    host: Host, facts: ModelFacts, device: Device, setup: Setup, wish: str | None = None
) -> Resolved | Obstacle:
    """The newest release that all links allow, or the one that ``wish`` names, or what breaks.

    Args:
        host: For its driver and its container engines.
        facts: For the model's architecture and rotary embeddings.
        device: The GPUs.
        setup: For the stack and the format.
        wish: A tag (``24.09``) or a version of the engine (``0.13.0``); None for the newest.
    """
    why = no_containers(host)
    if not why:
        return _image(host, facts, device, setup, wish)
    if setup.stack not in NATIVE or wish:
        what = f"{rules.TITLES[setup.stack]} is served from NVIDIA's images only" if not wish else f"{wish} is an image"
        remedy = "`triton-wizard prerequisites` shows what to install"
        other = "without --release" if setup.stack in NATIVE else "--stack vllm"
        return Obstacle("containers", f"{what}, and {why}.", f"{remedy}, or {other}")
    return _native(host, facts, device, setup, why)


def no_containers(host: Host) -> str:
    """Why no container engine lends GPUs here, in words; empty if one does. What is only described is believed."""
    described = host.source != "this machine"
    if any(one.nvidia_runtime and (one.server_version or described) for one in host.engines):
        return ""
    if not host.engines:
        return "neither docker nor podman is here"
    one = next((each for each in host.engines if each.server_version), host.engines[0])
    if not one.server_version:
        return f"{one.name} does not answer" + (f" ({one.problem})" if one.problem else "")
    return f"{one.name} knows no NVIDIA runtime"


def _image(host: Host, facts: ModelFacts, device: Device, setup: Setup, wish: str | None) -> Resolved | Obstacle:
    known = images(IMAGES[setup.stack])
    asked = known.named(wish) if wish else known.releases
    if not asked:
        text = f"No Triton image with {_engine_title(setup)} is known as {wish}."
        newest, oldest = known.releases[0].tag, known.releases[-1].tag
        return Obstacle("release", text, f"--release {newest}, or another one back to {oldest}")
    if why := _packages(host, setup):
        return why
    needs, broken, suiting = _needs(facts, device, setup), list[Obstacle](), list[Release]()
    for one in asked:
        if why := next(_broken(needs, device, setup, one), None):
            broken.append(why)
        elif _runs(host, one):
            return _resolved(host, facts, device, setup, one)
        else:
            suiting.append(one)
    for one in suiting:
        if _forward(host, device, one):
            return _resolved(host, facts, device, setup, one, forward=True)
    if suiting:
        why = _old_driver(host, suiting, wish)
    elif wish or broken[0].code != "image" or len({one.code for one in broken}) == 1:
        why = broken[0]  # the newest one's: what it cannot do, older ones cannot either
    else:
        why = _no_image(known, device, setup)
    return _or_another(host, facts, device, setup, why) if wish else why


def _or_another(host: Host, facts: ModelFacts, device: Device, setup: Setup, why: Obstacle) -> Obstacle:
    """``why`` with the release that would do as its first remedy."""
    other = _image(host, facts, device, setup, None)
    if isinstance(other, Obstacle):
        return why
    return Obstacle(why.code, why.text, f"--release {other.release.partition('-')[0]}, or {why.remedy}")


@dataclass(frozen=True, slots=True)
class _Need:
    """A version of the engine that something needs.

    Attributes:
        code: Of the obstacle if it is not met.
        what: Needs it, as the subject of a sentence.
        first: The version; `NONE` if there is none.
        without: Says so if there is none.
    """

    code: str
    what: str
    first: str
    without: str = ""


def _needs(facts: ModelFacts, device: Device, setup: Setup) -> tuple[_Need, ...]:
    """Everything that asks for a version of the engine: the model, its format, the GPU."""
    table, name = architectures(), facts.architecture
    have = _dots(device.compute_capability)
    gpu = next((one for one in table.gpus if one.name == have), None)
    found = [
        ("architecture", name, _floor(table.models, name, setup)),
        ("architecture", f"{name} with {facts.rope} rotary embeddings", _floor(table.ropes, facts.rope, setup)),
        ("format", setup.quantization, _floor(table.formats, setup.quantization, setup)),
        ("format", setup.quantization, _quantised(facts, setup)),
        ("image", f"Compute capability {have}", gpu.trtllm if gpu and setup.stack.startswith("trtllm") else None),
    ]
    if rules.weight_only(device, setup):
        found.append(("format", f"{setup.quantization} on compute capability {have}", _dots(rules.unpacks(device))))
    listed = f"{_engine_title(setup)} does not list {name} among the models that it serves."
    needs = [_Need(code, what or "", first, listed) for code, what, first in found if first]
    if first := _converted(facts, setup):
        made = f"The wizard has no conversion of {name} into an engine."
        needs.append(_Need("architecture", f"The conversion of {name}", first, made))
    return tuple(needs)


def _broken(needs: tuple[_Need, ...], device: Device, setup: Setup, release: Release) -> Iterator[Obstacle]:
    """Every link of ``release`` but the driver's that is broken."""
    yield from _gpu(device, release)
    if setup.stack == "trtllm-llmapi" and not release.llm_api:
        text = f"Release {release.tag} (TensorRT-LLM {release.engine}) has no Triton model for the LLM API."
        yield Obstacle("image", text, "--stack trtllm-engine")
    engine = release.engine if setup.stack != "transformers" else _native_version(setup)
    yield from _too_old(needs, setup, engine, f"release {release.tag} has {engine}")


def _gpu(device: Device, release: Release) -> Iterator[Obstacle]:
    have = _dots(device.compute_capability)
    if release.compute_capability > device.compute_capability:
        text = f"Release {release.tag} needs compute capability {_dots(release.compute_capability)}"
        yield Obstacle("image", f"{text}; the {device.name} has {have}.", "an older release, or a newer GPU")
    first = next((one for one in architectures().gpus if one.name == have), None)
    if first and release.cuda and version(release.cuda)[:2] < version(first.cuda):
        text = f"Compute capability {have} ({device.name}) needs CUDA {first.cuda}"
        yield Obstacle("image", f"{text}; release {release.tag} has {_short(release.cuda)}.", "a newer release")


def _too_old(needs: tuple[_Need, ...], setup: Setup, engine: str, has: str) -> Iterator[Obstacle]:
    """What the engine's version ``engine`` is too old for; ``has`` says where that version is from."""
    other = "" if setup.stack == "vllm" else ", or --stack vllm"
    for one in needs:
        if one.first == NONE:
            yield Obstacle(one.code, one.without, "--stack vllm")
        elif version(engine) < version(one.first):
            text = f"{one.what} needs {_engine_title(setup)} {one.first}; {has}."
            yield Obstacle(one.code, text, f"a newer release{other}")


def _floor(table: tuple[Floors, ...], name: str | None, setup: Setup) -> str | None:
    found = next((one for one in table if one.name == name), None)
    first = getattr(found, COLUMNS[setup.stack]) if found else None
    return None if first is None else str(first)


def _converted(facts: ModelFacts, setup: Setup) -> str | None:
    """First TensorRT-LLM whose conversion the wizard knows for the model; `NONE` if it knows none."""
    if setup.stack != "trtllm-engine" or facts.architecture is None:
        return None
    family = tools().family(facts.architecture)
    return family.architectures[facts.architecture] if family else NONE


def _quantised(facts: ModelFacts, setup: Setup) -> str | None:
    """First TensorRT-LLM that makes the format."""
    if setup.stack != "trtllm-engine" or facts.quantization:
        return None
    made = tools().format(setup.quantization)
    return made.since if made else None


def _branch(host: Host) -> int | None:
    """The driver's branch; None if it is unknown, which is taken to be new."""
    found = version(host.driver_version or "")
    return found[0] if found and (host.driver_version or "")[:1].isdecimal() else None


def _runs(host: Host, release: Release) -> bool:
    branch = _branch(host)
    return branch is None or release.driver <= branch


def _forward(host: Host, device: Device, release: Release) -> bool:
    """Whether the driver runs it by forward compatibility; it must know the GPU itself."""
    branch, have = _branch(host), _dots(device.compute_capability)
    first = next((one.driver for one in architectures().gpus if one.name == have), 0)
    known = branch is not None and branch >= first
    return known and drivers().runs(release.tag, host.driver_version or "", device.name)


def _packages(host: Host, setup: Setup) -> Obstacle | None:
    """Transformers brings packages of its own into the image, whose CUDA has a driver of its own."""
    if setup.stack != "transformers":
        return None
    return _environment_driver(host, environment(setup.stack))


def _environment_driver(host: Host, env: Environment) -> Obstacle | None:
    branch = _branch(host)
    if branch is None or env.driver is None or branch >= env.driver:
        return None
    text = f"{env.engine} needs an NVIDIA driver of branch {env.driver} or newer; here is {host.driver_version}."
    return Obstacle("driver", text, f"an NVIDIA driver of branch {env.driver} or newer")


def _old_driver(host: Host, suiting: list[Release], wish: str | None) -> Obstacle:
    oldest = min(suiting, key=lambda one: one.driver)
    what = f"Release {oldest.tag}" if wish else "This"
    text = f"{what} needs an NVIDIA driver of branch {oldest.driver} or newer; here is {host.driver_version}."
    return Obstacle("driver", text, f"an NVIDIA driver of branch {oldest.driver} or newer")


def _no_image(known: Images, device: Device, setup: Setup) -> Obstacle:
    have = _dots(device.compute_capability)
    text = f"No Triton image has {rules.TITLES[setup.stack]} for compute capability {have} and {setup.quantization}."
    return Obstacle("image", f"{text} ({known.gpu_source})", "--stack vllm, or a newer GPU")


def _resolved(
    host: Host, facts: ModelFacts, device: Device, setup: Setup, release: Release, *, forward: bool = False
) -> Resolved:
    known = images(IMAGES[setup.stack])
    cuda = f"CUDA {_short(release.cuda)} of {release.tag}" if release.cuda else f"release {release.tag}"
    driver = f"Driver {host.driver_version} runs" if host.driver_version else "The driver is unknown and taken to run"
    engine = f"has {_engine_title(setup)} {release.engine}"
    if setup.stack == "transformers":
        engine = f"gets {environment(setup.stack).engine}"
    text = f"{driver} {cuda}, which {engine}, which {_serves(facts, device, setup)}"
    warnings: tuple[Note, ...] = ()
    if forward:
        about = (
            f"Release {release.tag} goes with driver {release.driver}; {host.driver_version} runs it only by the "
            "forward-compatibility package in the image, which NVIDIA documents for data-centre GPUs."
        )
        warnings = (Note("forward-compatibility", about, drivers().source),)
    return Resolved("docker", f"{release.tag}-{known.suffix}", Note("release", text, _source(known, facts)), warnings)


def _serves(facts: ModelFacts, device: Device, setup: Setup) -> str:
    on = f"on compute capability {_dots(device.compute_capability)}"
    judged = _floor(architectures().models, facts.architecture, setup) or setup.stack == "transformers"
    if facts.architecture and judged:
        return f"serves {facts.architecture} {on}."
    what = facts.architecture or "a model without an architecture's name"
    return f"runs {on}; whether it serves {what} is not in the wizard's tables."


def _source(known: Images, facts: ModelFacts) -> str:
    model = next((one.source for one in architectures().models if one.name == facts.architecture), None)
    return f"{known.source}; {model}" if model else known.source


def _native(host: Host, facts: ModelFacts, device: Device, setup: Setup, why: str) -> Resolved | Obstacle:
    """The environments of `profiles/environments`, behind Triton from a wheel."""
    front, engine = environment("front"), environment(setup.stack)
    for env in (front, engine):
        if found := obstacles(host, env):
            remedy = f"`triton-wizard prerequisites` shows what containers need, or: {found[0].remedy}"
            return Obstacle(found[0].code, f"{found[0].text} And {why}.", remedy)
    if device.compute_capability < NATIVE_GPU:
        text = f"{engine.engine} needs compute capability {_dots(NATIVE_GPU)}; the {device.name} has"
        return Obstacle(
            "image", f"{text} {_dots(device.compute_capability)}.", "an older image, which needs containers"
        )
    needs, release = _needs(facts, device, setup), _native_version(setup)
    broken = _environment_driver(host, engine) or next(_too_old(needs, setup, release, f"here is {release}"), None)
    if broken:
        return broken
    text = (
        f"{why[0].upper()}{why[1:]}, so {engine.engine} runs in an environment of its own behind Triton {front.triton}"
    )
    driver = f"driver {host.driver_version} runs its CUDA" if host.driver_version else "the driver is unknown"
    text += f": {driver}, and it {_serves(facts, device, setup)}"
    return Resolved("native", f"triton {front.triton}", Note("release", text, "profiles/environments"))


def _native_version(setup: Setup) -> str:
    """Version of the engine in its own environment: ``vLLM 0.31.0 (…)`` is 0.31.0."""
    return environment(setup.stack).engine.split()[1]


def _engine_title(setup: Setup) -> str:
    if setup.stack == "trtllm-engine":
        return "TensorRT-LLM"
    return (
        f"{rules.TITLES[setup.stack]}'s PyTorch backend"
        if setup.stack == "trtllm-llmapi"
        else rules.TITLES[setup.stack]
    )


def _dots(parts: tuple[int, ...]) -> str:
    return ".".join(map(str, parts))


def _short(cuda: str) -> str:
    return _dots(version(cuda)[:2])
