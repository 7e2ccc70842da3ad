"""Which release runs here: driver, CUDA, image, engine, model, format and GPU, resolved with an explanation. Pure.

A release is taken if no link of the chain is broken, and of several the one that `driver` puts first. Where no image
will do, the engine runs in an environment of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from wizard.advise import driver, own
from wizard.advise import engines as ended
from wizard.advise.advice import Note
from wizard.advise.compatibility import Obstacle, either, obstacles
from wizard.advise.devices import Device
from wizard.advise.needs import Need, dots, engine_title, floor, needed, too_old
from wizard.advise.rules import instead
from wizard.advise.setup import Setup
from wizard.catalog import stacks
from wizard.catalog.environments import Environment, engines, environment, environment_of
from wizard.catalog.releases import Images, Release, architectures, drivers, images, version
from wizard.kernel.language import mark, tr
from wizard.model.facts import ModelFacts
from wizard.probe.host import EnginePython, Host

UNTRIED_CODE = "untried"
UNTRIED = mark(
    "Without containers TensorRT-LLM was tested with a stand-in only, made from the sources of 1.0.0 and 1.2.1; the "
    "real package was not run on a GPU. Its environment needs OpenMPI, CUDA's toolkit and PyTorch's own package index."
)


@dataclass(frozen=True, slots=True)
class Resolved:
    """What serves.

    Attributes:
        runtime: As in `Choice.runtime`.
        release: As in `Choice.release`.
        reason: The chain in one sentence.
        warnings: What works and should be known.
        environment: As in `Choice.environment`.
    """

    runtime: str
    release: str
    reason: Note
    warnings: tuple[Note, ...] = ()
    environment: str = ""


def resolve(
    host: Host,
    facts: ModelFacts,
    device: Device,
    setup: Setup,
    wish: str | None = None,
    runtime: str | None = None,
    python: EnginePython | None = None,
) -> Resolved | Obstacle:
    """The newest release that all links allow, or the one that ``wish`` names, or what breaks.

    Args:
        host: For its driver and its container engines.
        facts: For the model's architecture and rotary embeddings.
        device: The GPUs.
        setup: For the stack and the format.
        wish: A tag (``24.09``) or a version of the engine (``0.13.0``); None for the newest.
        runtime: ``native``, ``docker`` or ``podman`` if one is asked for.
        python: The user's Python that is asked for; it serves natively.
    """
    if python is not None:
        return own.obstacle(host, python, setup.stack) or _own(host, facts, device, setup, python)
    why = tr("you asked for {runtime}", runtime="--runtime native") if runtime == "native" else ""
    why = why or no_containers(host, runtime)
    if not why:
        found = _in_containers(host, facts, device, setup, wish, asked=runtime is not None)
        return found if isinstance(found, Obstacle) or not runtime else replace(found, runtime=runtime)
    if runtime:
        if refused := _other_runtime(host, setup, wish, runtime, why):
            return refused
    elif stacks.facts(setup.stack).native is None or wish:
        if wish:
            text = tr("{release} is an image, and {why}.", release=wish, why=why)
        else:
            text = tr("{stack} is served from NVIDIA's images only, and {why}.", stack=_title(setup), why=why)
        remedy = tr("`triton-wizard prerequisites` shows what to install")
        native = stacks.facts(setup.stack).native
        others = (tr("without {flag}", flag="--release"),) if native else instead(setup.stack)
        return Obstacle("containers", text, either(remedy, *others))
    return _native(host, facts, device, setup, why)


def _other_runtime(host: Host, setup: Setup, wish: str | None, runtime: str, why: str) -> Obstacle | None:
    """Why the asked ``runtime`` does not serve, and another that would; None if it is native and does."""
    usable = [one.name for one in host.engines if one.name != runtime and not no_containers(host, one.name)]
    ways = [f"--runtime {name}" for name in usable[:1]]
    if runtime != "native":
        native = stacks.facts(setup.stack).native and not wish
        ways += ["--runtime native"] if native else []
        ways.append(tr("`triton-wizard prerequisites` shows what to install"))
        return Obstacle("runtime", tr("{runtime} cannot be used: {why}.", runtime=runtime, why=why), either(*ways))
    if stacks.facts(setup.stack).native is None:
        text = tr("{stack} is served from NVIDIA's images only, and {why}.", stack=_title(setup), why=why)
        return Obstacle("runtime", text, either(*ways, *instead(setup.stack)))
    if not wish:
        return None
    text = tr("{release} is an image, and {why}.", release=wish, why=why)
    return Obstacle("runtime", text, either(tr("without {flag}", flag="--release"), *ways))


def _in_containers(
    host: Host, facts: ModelFacts, device: Device, setup: Setup, wish: str | None, *, asked: bool
) -> Resolved | Obstacle:
    """An image, or the native engine where no image will do.

    Where no image with CUDA 12 has a vLLM for the model, a driver for CUDA 12 gets it natively. A newer driver then
    must not get an image with an older vLLM.
    """
    found = _image(host, facts, device, setup, wish)
    native = stacks.facts(setup.stack).native
    if asked or wish or native is None or not host.driver_version:
        return found
    if isinstance(found, Obstacle):
        why = tr("no image will do. {problem}", problem=found.text.rstrip("."))
    elif not native.replaces_older_image or _in_cuda_12(facts, device, setup):
        return found
    else:
        why = tr("{release} has an older vLLM", release=found.release)
    other = _native(host, facts, device, setup, why)
    if isinstance(other, Obstacle) or (isinstance(found, Resolved) and _engine(found, setup) >= _engine(other, setup)):
        return found
    return other


def _in_cuda_12(facts: ModelFacts, device: Device, setup: Setup) -> bool:
    """Whether an image with CUDA 12, which every driver from 525 on runs, has an engine that serves the model."""
    broken = _judge(needed(facts, device, setup), device, setup, None)
    old = (one for one in _images(setup).releases if driver.cuda(one) == driver.EVERYWHERE)
    return any(broken(one) is None for one in old)


def _engine(found: Resolved, setup: Setup) -> tuple[int, ...]:
    """Version of the engine that serves."""
    if found.runtime == "native":
        return version(found.release.rpartition(" ")[2])
    (image,) = _images(setup).named(found.release)
    return version(image.engine)


def _images(setup: Setup) -> Images:
    image = stacks.facts(setup.stack).image
    if image is None:
        raise ValueError(f"there are no images with {setup.stack}")
    return images(image.family)


def _title(setup: Setup) -> str:
    return stacks.facts(setup.stack).title


def no_containers(host: Host, name: str | None = None) -> str:
    """Why no container engine lends GPUs here, in words; empty if one does. What is only described is believed.

    With ``name`` only that engine counts.
    """
    described = not host.is_here
    engines = [one for one in host.engines if name in (None, one.name)]
    if any(one.nvidia_runtime and (one.works or described) for one in engines):
        return ""
    if not engines:
        return tr("{engine} is not installed", engine=name) if name else tr("neither docker nor podman is here")
    one = next((each for each in engines if each.works), engines[0])
    if not one.server_version:
        text = tr("{engine} does not answer", engine=one.name)
        return f"{text} ({one.problem})" if one.problem else text
    if one.problem:
        return f"{one.name}: {one.problem}"
    return tr("{engine} knows no NVIDIA runtime", engine=one.name)


def _image(host: Host, facts: ModelFacts, device: Device, setup: Setup, wish: str | None) -> Resolved | Obstacle:
    known = _images(setup)
    asked = known.named(wish) if wish else known.releases
    if not asked:
        text = tr("No Triton image with {engine} is known as {release}.", engine=engine_title(setup), release=wish)
        newest, oldest = known.releases[0].tag, known.releases[-1].tag
        return Obstacle(
            "release", text, either(f"--release {newest}", tr("another one back to {oldest}", oldest=oldest))
        )
    image = stacks.facts(setup.stack).image
    apart = image is not None and image.own_packages
    own = driver.engine_environment(host, setup.stack, device.compute_capability) if apart else None
    if apart and own is None:
        return _no_environment(host, device, setup)
    judge = _judge(needed(facts, device, setup), device, setup, own)
    broken, suiting = list[Obstacle](), list[Release]()
    for one in asked:
        if why := judge(one):
            broken.append(why)
        else:
            suiting.append(one)
    if found := driver.chosen(host, device, suiting):
        return _resolved(host, facts, device, setup, found, own)
    if suiting:
        why = _old_driver(host, device, suiting, wish)
    elif wish or broken[0].code != "image" or len({one.code for one in broken}) == 1:
        why = broken[0]  # the newest one's: what it cannot do, older ones cannot either
    else:
        why = _no_image(known, device, setup)
    return _or_another(host, facts, device, setup, asked[0], why) if wish else why


def _or_another(host: Host, facts: ModelFacts, device: Device, setup: Setup, asked: Release, why: Obstacle) -> Obstacle:
    """``why`` with the release that would do as its first remedy: the newest, or the nearest that builds engines."""
    nearest = ended.later(asked.tag) if why.code == ended.CODE else ()
    found = (_image(host, facts, device, setup, one) for one in (*nearest, None))
    other = next((one for one in found if isinstance(one, Resolved)), None)
    if other is None:
        return why
    return Obstacle(why.code, why.text, either(f"--release {other.release.partition('-')[0]}", why.remedy))


def _judge(
    needs: tuple[Need, ...], device: Device, setup: Setup, own: Environment | None
) -> Callable[[Release], Obstacle | None]:
    """Says of a release which link but the driver's is broken, the first; ``own`` is the environment that it gets.

    What is the same for all releases is looked up once: reading a profile asks the disk whether it has changed.
    """
    have = dots(device.compute_capability)
    first = next((one for one in architectures().gpus if one.name == have), None)
    stack = stacks.facts(setup.stack)
    builds = ended.judge() if stack.builds_engine else None

    def broken(release: Release) -> Iterator[Obstacle]:
        yield from driver.gpu_obstacles(device, release, first)
        if builds and (why := builds(release)):
            yield why
        if stack.image and stack.image.llm_api and not release.llm_api:
            text = tr(
                "Release {release} (TensorRT-LLM {engine}) has no Triton model for the LLM API.",
                release=release.tag,
                engine=release.engine,
            )
            yield Obstacle("image", text, f"--stack {stack.image.instead_in_older}")
        yield from too_old(needs, setup, _version(own) if own else release.engine, release)

    return lambda release: next(broken(release), None)


def _no_environment(host: Host, device: Device, setup: Setup) -> Obstacle:
    """What keeps even the oldest engine environment from running here."""
    found = driver.environment_obstacle(host, device.compute_capability, engines(setup.stack)[-1])
    if found is None:
        raise AssertionError("an environment that runs was looked for before")
    return found


def _old_driver(host: Host, device: Device, suiting: list[Release], wish: str | None) -> Obstacle:
    """One of any age would do if the driver were that of the least demanding."""
    wanted, oldest = min((driver.oldest(device, one, drivers()), one.tag) for one in suiting)
    return driver.too_old(tr("Release {release}", release=oldest) if wish else tr("This"), wanted, host)


def _no_image(known: Images, device: Device, setup: Setup) -> Obstacle:
    have = dots(device.compute_capability)
    text = tr(
        "No Triton image has {stack} for compute capability {capability} and {format}.",
        stack=_title(setup),
        capability=have,
        format=setup.quantization,
    )
    return Obstacle("image", f"{text} ({known.gpu_source})", either(*instead(setup.stack), tr("a newer GPU")))


def _resolved(
    host: Host, facts: ModelFacts, device: Device, setup: Setup, release: Release, own: Environment | None
) -> Resolved:
    known, way = _images(setup), driver.way(host, device, release, drivers())
    what = tr("release {release}", release=release.tag)
    if release.cuda:
        what = tr("CUDA {cuda} of {release}", cuda=_short(release.cuda), release=release.tag)
    if host.driver_version:
        runs = tr("Driver {driver} runs {what}", driver=host.driver_version, what=what)
        if way == "minor":
            runs = tr("{runs} through CUDA minor-version compatibility", runs=runs)
    else:
        runs = tr("The driver is unknown and taken to run {what}", what=what)
    has = tr("has {engine}", engine=f"{engine_title(setup)} {release.engine}")
    if own:
        has = tr("gets {engine}", engine=own.engine)
    text = tr("{runs}, which {has}, which {serves}.", runs=runs, has=has, serves=_serves(facts, device, setup))
    warnings: tuple[Note, ...] = ()
    if way == "forward":
        about = tr(
            "Release {release} goes with driver {wanted}; {driver} runs it only by the forward-compatibility package "
            "in the image, which NVIDIA documents for data-centre GPUs.",
            release=release.tag,
            wanted=release.driver,
            driver=host.driver_version,
        )
        warnings = (Note("forward-compatibility", about, drivers().source),)
    reason = Note("release", text, _source(known, facts))
    return Resolved("docker", f"{release.tag}-{known.suffix}", reason, warnings, own.name if own else "")


def _serves(facts: ModelFacts, device: Device, setup: Setup) -> str:
    have = dots(device.compute_capability)
    judged = floor(architectures().models, facts.architecture, setup) or stacks.facts(setup.stack).serves_unlisted
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
    front, have = environment("front"), device.compute_capability
    engine = driver.engine_environment(host, setup.stack, have)
    for env in (front, engine or environment_of(setup.stack)):
        if found := obstacles(host, env):
            remedy = tr(
                "`triton-wizard prerequisites` shows what containers need, or: {remedy}", remedy=found[0].remedy
            )
            return Obstacle(found[0].code, tr("{problem} And {why}.", problem=found[0].text, why=why), remedy)
    if engine is None:
        return _no_environment(host, device, setup)
    if broken := next(too_old(needed(facts, device, setup), setup, _version(engine), None), None):
        return broken
    text = tr(
        "{why}, so {engine} runs in an environment of its own behind Triton {version}: {driver}, and it {serves}.",
        why=f"{why[0].upper()}{why[1:]}",
        engine=engine.engine,
        version=front.triton,
        driver=_runs(host),
        serves=_serves(facts, device, setup),
    )
    warnings: tuple[Note, ...] = ()
    native = stacks.facts(setup.stack).native
    if native and native.untried:
        warnings = (Note(UNTRIED_CODE, tr(UNTRIED)),)
    elif native and native.attention and have < native.attention.capability:
        slow = tr(
            "Without containers, vLLM's attention does not use this GPU's tensor cores, so long prompts take longer."
        )
        warnings = (Note("attention", slow, native.attention.source),)
    release = f"triton {front.triton}, {engine.engine_name}"
    return Resolved("native", release, Note("release", text, "profiles/environments"), warnings, engine.name)


def _own(host: Host, facts: ModelFacts, device: Device, setup: Setup, python: EnginePython) -> Resolved | Obstacle:
    """The engine that is there, behind Triton from a wheel."""
    front, engine = environment("front"), own.title(python, setup.stack)
    if found := obstacles(host, front):
        return found[0]
    needs, has = needed(facts, device, setup), own.engine_version(python, setup.stack)
    if broken := own.gpu_obstacle(device, python) or next(too_old(needs, setup, has, None), None):
        return broken
    text = tr(
        "You asked for the engine of {path}: {engine} runs behind Triton {version}, {driver}, and it {serves}.",
        path=python.path,
        engine=own.whole_title(python, setup.stack),
        version=front.triton,
        driver=_runs(host),
        serves=_serves(facts, device, setup),
    )
    note = Note("release", text, tr("package metadata in {prefix}", prefix=python.prefix))
    return Resolved("native", f"triton {front.triton}, {engine}", note)


def _runs(host: Host) -> str:
    if host.driver_version:
        return tr("driver {driver} runs its CUDA", driver=host.driver_version)
    return tr("the driver is unknown")


def _short(cuda: str) -> str:
    return dots(version(cuda)[:2])


def _version(env: Environment) -> str:
    """Version of the engine in its own environment: ``vLLM 0.31.0 (…)`` is 0.31.0."""
    return env.engine.split()[1]
