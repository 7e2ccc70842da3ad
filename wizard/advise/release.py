"""Which release runs here: driver, CUDA, image, engine, model, format and GPU, resolved with an explanation. Pure.

A release is possible if no link of the chain is broken; `driver` selects among several. If no image works, the engine
runs in its own environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from wizard.advise import config_library, driver, engine_python
from wizard.advise import engines as ended
from wizard.advise.compatibility import obstacles
from wizard.advise.devices import Device
from wizard.advise.needs import Need, dots, engine, needed, too_old
from wizard.advise.reasons import Note, Obstacle, Param, Reason, because, change, do, without
from wizard.advise.rules import instead
from wizard.advise.setup import Setup
from wizard.catalog import stacks
from wizard.catalog.environments import Environment, engines, environment, environment_of
from wizard.catalog.releases import NONE, Images, Release, architectures, drivers, floor, images, version
from wizard.model.facts import ModelFacts
from wizard.probe.host import EnginePython, Host

UNTRIED_CODE = "untried"
"""Code of the warning that an engine was tested with a stand-in only."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The resolved release.

    Attributes:
        runtime: As in `Choice.runtime`.
        release: As in `Choice.release`.
        reason: The chain of requirements.
        warnings: What works but the user should know.
        environment: As in `Choice.environment`.
        engine_version: As in `Choice.engine_version`.
    """

    runtime: str
    release: str
    reason: Note
    warnings: tuple[Note, ...] = ()
    environment: str = ""
    engine_version: str = ""


def resolve(
    host: Host,
    facts: ModelFacts,
    device: Device,
    setup: Setup,
    requested: str | None = None,
    runtime: str | None = None,
    python: EnginePython | None = None,
) -> Resolved | Obstacle:
    """The newest release that all links allow, or the ``requested`` one, or the obstacle.

    Args:
        host: The machine: driver and container engines.
        facts: The model: architecture and rotary embeddings.
        device: The GPUs.
        setup: The stack and the format.
        requested: A tag (``24.09``) or a version of the engine (``0.13.0``); None for the newest.
        runtime: ``native``, ``docker`` or ``podman`` if one is requested.
        python: The user's Python if one is requested; it serves natively.
    """
    if python is not None:
        return engine_python.obstacle(host, python, setup.stack) or _own(host, facts, device, setup, python)
    if stacks.facts(setup.stack).image is None:
        return _without_image(host, facts, device, setup, requested, runtime)
    why = because("runtime-asked") if runtime == "native" else None
    why = why or no_containers(host, runtime)
    if not why:
        resolved = _in_containers(host, facts, device, setup, requested, asked=runtime is not None)
        return resolved if isinstance(resolved, Obstacle) or not runtime else replace(resolved, runtime=runtime)
    if runtime:
        if refused := _other_runtime(host, setup, requested, runtime, why):
            return refused
    elif stacks.facts(setup.stack).native is None or requested:
        others = (without("release"),) if stacks.facts(setup.stack).native else instead(setup.stack)
        image = because("is-image", release=requested, why=why)
        only = because("no-native", stack=setup.stack, why=why)
        return Obstacle("containers", image if requested else only, (do("prerequisites"), *others))
    return _native(host, facts, device, setup, why)


def _without_image(
    host: Host, facts: ModelFacts, device: Device, setup: Setup, requested: str | None, runtime: str | None
) -> Resolved | Obstacle:
    """A stack without an image: natively, regardless of containers."""
    why = because("no-stack-image", stack=setup.stack)
    if runtime not in (None, "native"):
        refused = because("no-runtime", runtime=runtime, why=why)
        return Obstacle("runtime", refused, (change(runtime="native"), *instead(setup.stack)))
    if requested:
        return Obstacle("containers", because("is-image", release=requested, why=why), (without("release"),))
    return _native(host, facts, device, setup, why)


def _other_runtime(host: Host, setup: Setup, requested: str | None, runtime: str, why: Reason) -> Obstacle | None:
    """Why the requested ``runtime`` cannot serve, and another that can; None if it is native and can."""
    usable = [each.name for each in host.engines if not no_containers(host, each.name)]
    remedies = [change(runtime=name) for name in usable[:1]]
    if runtime != "native":
        native = stacks.facts(setup.stack).native and not requested
        remedies += [change(runtime="native")] if native else []
        remedies.append(do("prerequisites"))
        return Obstacle("runtime", because("no-runtime", runtime=runtime, why=why), tuple(remedies))
    if stacks.facts(setup.stack).native is None:
        return Obstacle("runtime", because("no-native", stack=setup.stack, why=why), (*remedies, *instead(setup.stack)))
    if not requested:
        return None
    return Obstacle("runtime", because("is-image", release=requested, why=why), (without("release"), *remedies))


def _in_containers(
    host: Host, facts: ModelFacts, device: Device, setup: Setup, requested: str | None, *, asked: bool
) -> Resolved | Obstacle:
    """An image, or the native engine if no image works.

    If no image with CUDA 12 has a vLLM for the model, a driver for CUDA 12 gets it natively. A newer driver then must
    not get an image with an older vLLM.
    """
    resolved = _image(host, facts, device, setup, requested)
    native = stacks.facts(setup.stack).native
    if asked or requested or native is None or not host.driver_version:
        return resolved
    if isinstance(resolved, Obstacle):
        why = because("no-image-will-do", problem=resolved.reason)
    elif not native.replaces_older_image or _in_cuda_12(facts, device, setup):
        return resolved
    else:
        why = because("older-vllm", release=resolved.release)
    other = _native(host, facts, device, setup, why)
    if isinstance(other, Obstacle) or (
        isinstance(resolved, Resolved) and version(resolved.engine_version) >= version(other.engine_version)
    ):
        return resolved
    return other


def _in_cuda_12(facts: ModelFacts, device: Device, setup: Setup) -> bool:
    """Whether an image with CUDA 12, which every driver from 525 on runs, has an engine that serves the model."""
    broken = _judge(needed(facts, device, setup), device, setup, None)
    old = (release for release in _images(setup).releases if driver.cuda(release) == driver.EVERYWHERE)
    return any(broken(older) is None for older in old)


def _images(setup: Setup) -> Images:
    image = stacks.facts(setup.stack).image
    if image is None:
        raise ValueError(f"there are no images with {setup.stack}")
    return images(image.family)


def no_containers(host: Host, name: str | None = None) -> Reason | None:
    """Why no container engine provides GPUs here; None if one does. A described machine is trusted.

    With ``name`` only that engine counts.
    """
    described = not host.is_here
    engines = [container_engine for container_engine in host.engines if name in (None, container_engine.name)]
    if any(container_engine.nvidia_runtime and (container_engine.works or described) for container_engine in engines):
        return None
    if not engines:
        return because("engine-not-installed", engine=name) if name else because("no-container-engine")
    engine = next((each for each in engines if each.works), engines[0])
    if not engine.server_version:
        return because("engine-silent", engine=engine.name, problem=engine.problem)
    if engine.problem:
        return because("engine-problem", engine=engine.name, problem=engine.problem)
    return because("no-nvidia-runtime", engine=engine.name)


def _container_engine(host: Host) -> str:
    """The container engine that provides GPUs; docker if several do."""
    return next((name for name in ("docker", "podman") if not no_containers(host, name)), "docker")


def _image(host: Host, facts: ModelFacts, device: Device, setup: Setup, requested: str | None) -> Resolved | Obstacle:
    if why := _no_images(device, setup):
        return why
    known = _images(setup)
    releases = known.named(requested) if requested else known.releases
    if not releases:
        newest, oldest = known.releases[0].tag, known.releases[-1].tag
        unknown = because("unknown-release", engine=engine(setup), release=requested)
        return Obstacle("release", unknown, (change(release=newest), do("another-release", oldest=oldest)))
    image = stacks.facts(setup.stack).image
    apart = image is not None and image.own_packages
    own = driver.engine_environment(host, setup.stack, device.compute_capability) if apart else None
    if apart and own is None:
        return _no_environment(host, device, setup)
    judge = _judge(needed(facts, device, setup), device, setup, own)
    broken, suiting = list[Obstacle](), list[Release]()
    for release in releases:
        if why := judge(release):
            broken.append(why)
        elif driver.runs(host, device, release):  # the newest one: no other comes before it
            return _resolved(host, facts, device, setup, release, own)
        else:
            suiting.append(release)
    if chosen := driver.chosen(host, device, suiting):
        return _resolved(host, facts, device, setup, chosen, own)
    if suiting:
        why = _old_driver(host, device, suiting, requested)
    elif requested or broken[0].code != "image" or len({problem.code for problem in broken}) == 1:
        why = broken[0]  # the newest one's: older ones support no more
    else:
        why = _no_image(known, device, setup)
    return _or_another(host, facts, device, setup, releases[0], why) if requested else why


def _no_images(device: Device, setup: Setup) -> Obstacle | None:
    """NVIDIA makes no image with an engine for such GPUs."""
    have = dots(device.compute_capability)
    if all(gpu.images for gpu in architectures().gpus if gpu.name == have):
        return None
    why = because("no-image-for", stack=setup.stack, gpu=device.name)
    return Obstacle("image", why, (do("newer-gpu"), do("give-gguf")))


def _or_another(host: Host, facts: ModelFacts, device: Device, setup: Setup, named: Release, why: Obstacle) -> Obstacle:
    """``why`` with the release that works as its first remedy: the newest, or the nearest that builds engines."""
    nearest = ended.later(named.tag) if why.code == ended.CODE else ()
    answers = (_image(host, facts, device, setup, tag) for tag in (*nearest, None))
    other = next((answer for answer in answers if isinstance(answer, Resolved)), None)
    if other is None:
        return why
    return replace(why, remedies=(change(release=other.release.partition("-")[0]), *why.remedies))


def _judge(
    needs: tuple[Need, ...], device: Device, setup: Setup, own: Environment | None
) -> Callable[[Release], Obstacle | None]:
    """A function that returns the first broken link of a release except for the driver's; ``own`` is its environment.

    Facts common to all releases are looked up once: reading a profile checks the disk for changes.
    """
    have = dots(device.compute_capability)
    first = next((gpu for gpu in architectures().gpus if gpu.name == have), None)
    stack = stacks.facts(setup.stack)
    builds = ended.judge() if stack.builds_engine else None

    def broken(release: Release) -> Iterator[Obstacle]:
        yield from driver.gpu_obstacles(device, release, first)
        if builds and (why := builds(release)):
            yield why
        if stack.image and stack.image.llm_api and not release.llm_api:
            lacking = because("no-llm-api", release=release.tag, engine=release.engine)
            yield Obstacle("image", lacking, (change(stack=stack.image.instead_in_older),))
        yield from too_old(needs, setup, own.engine_version if own else release.engine, release)

    return lambda release: next(broken(release), None)


def _no_environment(host: Host, device: Device, setup: Setup) -> Obstacle:
    """What prevents even the oldest engine environment from running here."""
    problem = driver.environment_obstacle(host, device.compute_capability, engines(setup.stack)[-1])
    if problem is None:
        raise AssertionError("an environment that runs was looked for before")
    return problem


def _old_driver(host: Host, device: Device, suiting: list[Release], requested: str | None) -> Obstacle:
    """Any release would work with the driver of the least demanding one."""
    wanted, oldest = min((driver.oldest(device, release, drivers()), release.tag) for release in suiting)
    return driver.too_old(because("this-release", release=oldest if requested else None), wanted, host)


def _no_image(known: Images, device: Device, setup: Setup) -> Obstacle:
    why = because(
        "no-image",
        stack=setup.stack,
        capability=device.compute_capability,
        format=setup.quantization,
        source=known.gpu_source,
    )
    return Obstacle("image", why, (*instead(setup.stack), do("newer-gpu")))


def _resolved(
    host: Host, facts: ModelFacts, device: Device, setup: Setup, release: Release, own: Environment | None
) -> Resolved:
    known, mode = _images(setup), driver.mode(host, device, release, drivers())
    reason = because(
        "in-image",
        driver=host.driver_version,
        release=release.tag,
        cuda=_short(release.cuda) if release.cuda else None,
        minor=mode == "minor",
        engine=engine(setup),
        version=release.engine,
        environment=own.engine if own else None,
        serves=_serves(facts, device, setup),
    )
    engine_version = own.engine_version if own else release.engine
    warnings = _cautions(facts, setup, engine_version, own)
    if mode == "forward":
        about: dict[str, Param] = {"release": release.tag, "wanted": release.driver, "driver": host.driver_version}
        warnings += (Note("forward-compatibility", about, drivers().source),)
    note = Note("release", {"why": reason}, _source(known, facts))
    tag, name = f"{release.tag}-{known.suffix}", own.name if own else ""
    return Resolved(_container_engine(host), tag, note, warnings, name, engine_version)


def _serves(facts: ModelFacts, device: Device, setup: Setup) -> Reason:
    first = floor(architectures().models, facts.architecture, setup.stack)
    code = "runs-unknown" if first in (None, NONE) else "serves"  # NONE: of the releases that were read, not this one
    return because(code, model=facts.architecture, capability=device.compute_capability)


def _cautions(facts: ModelFacts, setup: Setup, has: str, env: Environment | None) -> tuple[Note, ...]:
    """Warnings if no list of the engine's models names the model, or its configuration is too new for ``env``."""
    if facts.architecture is None or floor(architectures().models, facts.architecture, setup.stack) not in (None, NONE):
        return config_library.notes(facts, setup.stack, has, env)
    return (Note("unlisted", {"model": facts.architecture, "engine": engine(setup)}),)


def _source(known: Images, facts: ModelFacts) -> str:
    model = next((model.source for model in architectures().models if model.name == facts.architecture), None)
    return f"{known.source}; {model}" if model else known.source


def _native(host: Host, facts: ModelFacts, device: Device, setup: Setup, why: Reason) -> Resolved | Obstacle:
    """The environments of `profiles/environments`, behind Triton from a wheel."""
    front, have = environment("front"), device.compute_capability
    needs = needed(facts, device, setup)
    engine_env = _environment(host, needs, device, setup)
    for env in (front, engine_env or environment_of(setup.stack)):
        if problems := obstacles(host, env):
            first = problems[0]
            both = because("and", problem=first.reason, why=why)
            return Obstacle(first.code, both, (do("containers-need"), *first.remedies))
    if engine_env is None:
        return _no_environment(host, device, setup)
    if broken := next(too_old(needs, setup, engine_env.engine_version, None), None):
        return broken
    reason = because(
        "in-environment",
        why=why,
        engine=engine_env.engine,
        version=front.triton,
        driver=host.driver_version,
        serves=_serves(facts, device, setup),
    )
    warnings = _cautions(facts, setup, engine_env.engine_version, engine_env)
    native = stacks.facts(setup.stack).native
    if native and native.untried:
        untried: dict[str, Param] = {
            "stack": setup.stack,
            "versions": native.untried,
            "needs_more": bool(engine_env.before),
        }
        warnings += (Note(UNTRIED_CODE, untried),)
    elif native and native.attention and have < native.attention.capability:
        warnings += (Note("attention", {}, native.attention.source),)
    release = f"triton {front.triton}, {engine_env.engine_name}"
    note = Note("release", {"why": reason}, "profiles/environments")
    return Resolved("native", release, note, warnings, engine_env.name, engine_env.engine_version)


def _environment(host: Host, needs: tuple[Need, ...], device: Device, setup: Setup) -> Environment | None:
    """The newest environment that driver and GPU can run and that serves the model; if none does, the newest that they
    can run.
    """
    have = device.compute_capability
    usable = [env for env in engines(setup.stack) if driver.environment_obstacle(host, have, env) is None]
    suiting = (env for env in usable if not any(too_old(needs, setup, env.engine_version, None)))
    return next(suiting, usable[0] if usable else None)


def _own(host: Host, facts: ModelFacts, device: Device, setup: Setup, python: EnginePython) -> Resolved | Obstacle:
    """The user's engine, behind Triton from a wheel."""
    front, title = environment("front"), engine_python.title(python, setup.stack)
    if problems := obstacles(host, front):
        return problems[0]
    needs, has = needed(facts, device, setup), engine_python.engine_version(python, setup.stack)
    if broken := engine_python.gpu_obstacle(device, python) or next(too_old(needs, setup, has, None), None):
        return broken
    reason = because(
        "in-own",
        path=python.path,
        engine=engine_python.whole_title(python, setup.stack),
        version=front.triton,
        driver=host.driver_version,
        serves=_serves(facts, device, setup),
        prefix=python.prefix,
    )
    note = Note("release", {"why": reason})
    warnings = _cautions(facts, setup, has, None)
    return Resolved("native", f"triton {front.triton}, {title}", note, warnings, engine_version=has)


def _short(cuda: str) -> str:
    return dots(version(cuda)[:2])
