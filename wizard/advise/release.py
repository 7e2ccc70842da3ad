"""Which release runs here: driver, CUDA, image, engine, model, format and GPU, resolved with an explanation. Pure.

A release is taken if no link of the chain is broken. The newest one that the driver runs as it is goes before those
that it runs by forward compatibility only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wizard.advise import engines, rules
from wizard.advise.advice import Note
from wizard.advise.compatibility import Obstacle, either, obstacles
from wizard.advise.devices import Device
from wizard.advise.needs import Need, dots, engine_title, floor, needed, too_old
from wizard.advise.setup import Setup
from wizard.catalog.environments import Environment, environment
from wizard.catalog.releases import Images, Release, architectures, drivers, images, version
from wizard.kernel.language import tr
from wizard.model.facts import ModelFacts
from wizard.probe.host import Host

IMAGES = {"vllm": "vllm", "trtllm-llmapi": "trtllm", "trtllm-engine": "trtllm", "transformers": "vllm"}
"""Stack → whose images serve it. Transformers brings its own packages, for which any image with Triton will do."""
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
        if wish:
            text = tr("{release} is an image, and {why}.", release=wish, why=why)
        else:
            text = tr(
                "{stack} is served from NVIDIA's images only, and {why}.", stack=rules.TITLES[setup.stack], why=why
            )
        remedy = tr("`triton-wizard prerequisites` shows what to install")
        other = tr("without {flag}", flag="--release") if setup.stack in NATIVE else "--stack vllm"
        return Obstacle("containers", text, either(remedy, other))
    return _native(host, facts, device, setup, why)


def no_containers(host: Host) -> str:
    """Why no container engine lends GPUs here, in words; empty if one does. What is only described is believed."""
    described = not host.is_here
    if any(one.nvidia_runtime and (one.server_version or described) for one in host.engines):
        return ""
    if not host.engines:
        return tr("neither docker nor podman is here")
    one = next((each for each in host.engines if each.server_version), host.engines[0])
    if not one.server_version:
        text = tr("{engine} does not answer", engine=one.name)
        return f"{text} ({one.problem})" if one.problem else text
    return tr("{engine} knows no NVIDIA runtime", engine=one.name)


def _image(host: Host, facts: ModelFacts, device: Device, setup: Setup, wish: str | None) -> Resolved | Obstacle:
    known = images(IMAGES[setup.stack])
    asked = known.named(wish) if wish else known.releases
    if not asked:
        text = tr("No Triton image with {engine} is known as {release}.", engine=engine_title(setup), release=wish)
        newest, oldest = known.releases[0].tag, known.releases[-1].tag
        return Obstacle(
            "release", text, either(f"--release {newest}", tr("another one back to {oldest}", oldest=oldest))
        )
    if why := _packages(host, setup):
        return why
    needs, broken, suiting = needed(facts, device, setup), list[Obstacle](), list[Release]()
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
    return _or_another(host, facts, device, setup, asked[0], why) if wish else why


def _or_another(host: Host, facts: ModelFacts, device: Device, setup: Setup, asked: Release, why: Obstacle) -> Obstacle:
    """``why`` with the release that would do as its first remedy: the newest, or the nearest that builds engines."""
    nearest = engines.later(asked.tag) if why.code == engines.CODE else ()
    found = (_image(host, facts, device, setup, one) for one in (*nearest, None))
    other = next((one for one in found if isinstance(one, Resolved)), None)
    if other is None:
        return why
    return Obstacle(why.code, why.text, either(f"--release {other.release.partition('-')[0]}", why.remedy))


def _broken(needs: tuple[Need, ...], device: Device, setup: Setup, release: Release) -> Iterator[Obstacle]:
    """Every link of ``release`` but the driver's that is broken."""
    yield from _gpu(device, release)
    if setup.stack == engines.STACK and (why := engines.obstacle(release)):
        yield why
    if setup.stack == "trtllm-llmapi" and not release.llm_api:
        text = tr(
            "Release {release} (TensorRT-LLM {engine}) has no Triton model for the LLM API.",
            release=release.tag,
            engine=release.engine,
        )
        yield Obstacle("image", text, "--stack trtllm-engine")
    engine = release.engine if setup.stack != "transformers" else _native_version(setup)
    yield from too_old(needs, setup, engine, release)


def _gpu(device: Device, release: Release) -> Iterator[Obstacle]:
    have = dots(device.compute_capability)
    if release.compute_capability > device.compute_capability:
        text = tr(
            "Release {release} needs compute capability {wanted}; the {gpu} has {capability}.",
            release=release.tag,
            wanted=dots(release.compute_capability),
            gpu=device.name,
            capability=have,
        )
        yield Obstacle("image", text, either(tr("an older release"), tr("a newer GPU")))
    first = next((one for one in architectures().gpus if one.name == have), None)
    if first and release.cuda and version(release.cuda)[:2] < version(first.cuda):
        text = tr(
            "Compute capability {capability} ({gpu}) needs CUDA {cuda}; release {release} has {has}.",
            capability=have,
            gpu=device.name,
            cuda=first.cuda,
            release=release.tag,
            has=_short(release.cuda),
        )
        yield Obstacle("image", text, tr("a newer release"))


def _branch(host: Host) -> int | None:
    """The driver's branch; None if it is unknown, which is taken to be new."""
    found = version(host.driver_version or "")
    return found[0] if found and (host.driver_version or "")[:1].isdecimal() else None


def _runs(host: Host, release: Release) -> bool:
    branch = _branch(host)
    return branch is None or release.driver <= branch


def _forward(host: Host, device: Device, release: Release) -> bool:
    """Whether the driver runs it by forward compatibility; it must know the GPU itself."""
    branch, have = _branch(host), dots(device.compute_capability)
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
    return _driver(env.engine, env.driver, host)


def _driver(what: str, branch: int, host: Host) -> Obstacle:
    text = tr(
        "{what} needs an NVIDIA driver of branch {branch} or newer; here is {driver}.",
        what=what,
        branch=branch,
        driver=host.driver_version,
    )
    return Obstacle("driver", text, tr("an NVIDIA driver of branch {branch} or newer", branch=branch))


def _old_driver(host: Host, suiting: list[Release], wish: str | None) -> Obstacle:
    oldest = min(suiting, key=lambda one: one.driver)
    return _driver(tr("Release {release}", release=oldest.tag) if wish else tr("This"), oldest.driver, host)


def _no_image(known: Images, device: Device, setup: Setup) -> Obstacle:
    have = dots(device.compute_capability)
    text = tr(
        "No Triton image has {stack} for compute capability {capability} and {format}.",
        stack=rules.TITLES[setup.stack],
        capability=have,
        format=setup.quantization,
    )
    return Obstacle("image", f"{text} ({known.gpu_source})", either("--stack vllm", tr("a newer GPU")))


def _resolved(
    host: Host, facts: ModelFacts, device: Device, setup: Setup, release: Release, *, forward: bool = False
) -> Resolved:
    known = images(IMAGES[setup.stack])
    what = tr("release {release}", release=release.tag)
    if release.cuda:
        what = tr("CUDA {cuda} of {release}", cuda=_short(release.cuda), release=release.tag)
    if host.driver_version:
        runs = tr("Driver {driver} runs {what}", driver=host.driver_version, what=what)
    else:
        runs = tr("The driver is unknown and taken to run {what}", what=what)
    if setup.stack == "transformers":
        has = tr("gets {engine}", engine=environment(setup.stack).engine)
    else:
        has = tr("has {engine}", engine=f"{engine_title(setup)} {release.engine}")
    text = tr("{runs}, which {has}, which {serves}.", runs=runs, has=has, serves=_serves(facts, device, setup))
    warnings: tuple[Note, ...] = ()
    if forward:
        about = tr(
            "Release {release} goes with driver {wanted}; {driver} runs it only by the forward-compatibility package "
            "in the image, which NVIDIA documents for data-centre GPUs.",
            release=release.tag,
            wanted=release.driver,
            driver=host.driver_version,
        )
        warnings = (Note("forward-compatibility", about, drivers().source),)
    return Resolved("docker", f"{release.tag}-{known.suffix}", Note("release", text, _source(known, facts)), warnings)


def _serves(facts: ModelFacts, device: Device, setup: Setup) -> str:
    have = dots(device.compute_capability)
    judged = floor(architectures().models, facts.architecture, setup) or setup.stack == "transformers"
    if facts.architecture and judged:
        return tr("serves {model} on compute capability {capability}", model=facts.architecture, capability=have)
    what = facts.architecture or tr("a model without an architecture's name")
    return tr(
        "runs on compute capability {capability}; whether it serves {model} is not in the wizard's tables",
        model=what,
        capability=have,
    )


def _source(known: Images, facts: ModelFacts) -> str:
    model = next((one.source for one in architectures().models if one.name == facts.architecture), None)
    return f"{known.source}; {model}" if model else known.source


def _native(host: Host, facts: ModelFacts, device: Device, setup: Setup, why: str) -> Resolved | Obstacle:
    """The environments of `profiles/environments`, behind Triton from a wheel."""
    front, engine = environment("front"), environment(setup.stack)
    for env in (front, engine):
        if found := obstacles(host, env):
            remedy = tr(
                "`triton-wizard prerequisites` shows what containers need, or: {remedy}", remedy=found[0].remedy
            )
            return Obstacle(found[0].code, tr("{problem} And {why}.", problem=found[0].text, why=why), remedy)
    if device.compute_capability < NATIVE_GPU:
        text = tr(
            "{what} needs compute capability {wanted}; the {gpu} has {capability}.",
            what=engine.engine,
            wanted=dots(NATIVE_GPU),
            gpu=device.name,
            capability=dots(device.compute_capability),
        )
        return Obstacle("image", text, tr("an older image, which needs containers"))
    needs, release = needed(facts, device, setup), _native_version(setup)
    broken = _environment_driver(host, engine) or next(too_old(needs, setup, release, None), None)
    if broken:
        return broken
    driver = tr("the driver is unknown")
    if host.driver_version:
        driver = tr("driver {driver} runs its CUDA", driver=host.driver_version)
    text = tr(
        "{why}, so {engine} runs in an environment of its own behind Triton {version}: {driver}, and it {serves}.",
        why=f"{why[0].upper()}{why[1:]}",
        engine=engine.engine,
        version=front.triton,
        driver=driver,
        serves=_serves(facts, device, setup),
    )
    return Resolved("native", f"triton {front.triton}", Note("release", text, "profiles/environments"))


def _short(cuda: str) -> str:
    return dots(version(cuda)[:2])


def _native_version(setup: Setup) -> str:
    """Version of the engine in its own environment: ``vLLM 0.31.0 (…)`` is 0.31.0."""
    return environment(setup.stack).engine.split()[1]
