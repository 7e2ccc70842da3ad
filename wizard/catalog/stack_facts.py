"""Facts about a serving stack: a ``profiles/stacks/NAME.toml``, which `wizard.catalog.stacks` reads.

The tables ``[gpu]`` and ``[cpu]`` are in `wizard.catalog.gpu_facts` and `wizard.catalog.cpu_facts`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wizard.catalog.cpu_facts import OnCpu
from wizard.catalog.gpu_facts import Oldest, OnGpu


@dataclass(frozen=True, slots=True)
class Simplicity:
    """Steps to a first answer: fewer come first if nothing else decides; equal numbers are equally simple."""

    steps: int
    source: str


@dataclass(frozen=True, slots=True)
class Image:
    """NVIDIA's images that serve a stack.

    Attributes:
        family: Their file in ``profiles/releases``.
        own_packages: The stack's packages get a separate environment in an image too, so any image works.
        llm_api: Only images with TensorRT-LLM's Triton model for the LLM API serve it (`Release.llm_api`).
        instead_in_older: The stack that serves from images without it.
    """

    family: str
    own_packages: bool = False
    llm_api: bool = False
    instead_in_older: str = ""


@dataclass(frozen=True, slots=True)
class Native:
    """How a stack is served without containers.

    Attributes:
        environment: File of ``profiles/environments``.
        replaces_older_image: Whether its engine replaces an image that has an older one.
        untried: Versions of the engine from whose sources a stand-in was made, if the real one never ran on a GPU;
            empty: it did. Advice ranks untried engines last, with a warning.
        attention: Oldest GPU whose tensor cores its attention uses; None: the oldest that it serves on.
        packages: Packages of a user's Python that can serve it → their titles; empty if a user's Python is not
            supported.
        offered: Whether such a Python is offered even if the stack was not requested.
    """

    environment: str
    replaces_older_image: bool = False
    untried: str = ""
    attention: Oldest | None = None
    packages: dict[str, str] = field(default_factory=dict)
    offered: bool = False


@dataclass(frozen=True, slots=True)
class First:
    """First version of the engine that serves something.

    Attributes:
        versions: An architecture, a type of rotary embeddings or a format → the version; ``none``: no version serves
            it. What is not in it is not judged.
    """

    source: str
    versions: dict[str, str]


@dataclass(frozen=True, slots=True)
class Answers:
    """How the wizard's own program of an engine can guide and read answers.

    Attributes:
        json_schema: Whether an answer can be made to match a JSON schema.
        tool_calls: Who reads the calls of functions in an answer: no one, the engine for every model (``engine``), or
            its parsers in a column of ``profiles/tool_calls.toml``.
    """

    source: str
    json_schema: bool = False
    tool_calls: str = ""


@dataclass(frozen=True, slots=True)
class StackFacts:
    """A serving stack; it serves on GPUs or on the CPU.

    Attributes:
        title: Name as its vendor writes it.
        rank: Position in lists, and the order in which stacks are tried; lower comes first.
        engine: The engine if its title differs; empty: `title`.
        pytorch_backend: Whether the engine is TensorRT-LLM's PyTorch backend, the second of two.
        builds_engine: Whether an engine is built first, with tools that images had until some release.
        never_ran: Whether it never ran on a GPU with the wizard, in an image or an environment.
        instead: Alternatives if this stack cannot serve, the one with the most models first.
        first: First versions of its engine; None: nothing is known, or they are in `floors`.
        floors: Its column of ``profiles/releases/architectures.toml``; empty: it has none.
        speed: Its table of ``profiles/speed.toml``; empty: its speed is unknown.
        aiconfigurator: The engine's name in aiconfigurator-core; empty: not supported there.
        simplicity: Used for ranking.
        image: None: no image has it.
        native: None: it is served from images only.
        answers: None: they are neither guided nor read.
        gpu: None: it does not serve on GPUs.
        cpu: None: it does not serve on the CPU.
    """

    title: str
    rank: int
    simplicity: Simplicity
    engine: str = ""
    pytorch_backend: bool = False
    builds_engine: bool = False
    never_ran: bool = False
    instead: tuple[str, ...] = ()
    first: First | None = None
    floors: str = ""
    speed: str = ""
    aiconfigurator: str = ""
    image: Image | None = None
    native: Native | None = None
    answers: Answers | None = None
    gpu: OnGpu | None = None
    cpu: OnCpu | None = None
