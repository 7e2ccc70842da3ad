"""Triton's images: ``profiles/releases``, which engine is in which, and what driver and GPU it needs."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.catalog import profiles


@dataclass(frozen=True, slots=True)
class Release:
    """One image.

    Attributes:
        tag: Year and month, ``26.07``.
        triton: Version of Triton.
        engine: Version of vLLM or TensorRT-LLM in it.
        driver: Smallest driver branch that runs it as it is.
        compute_capability: Oldest GPU that it has code for.
        llm_api: TensorRT-LLM's Triton model for the LLM API is in it.
        cuda: CUDA in it, where it is known.
        image_bytes: Its size as NVIDIA's matrix states it, where it does.
    """

    tag: str
    triton: str
    engine: str
    driver: int
    compute_capability: tuple[int, int]
    llm_api: bool = False
    cuda: str | None = None
    image_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Images:
    """All images with one engine, newest first, and where the facts are from."""

    about: str
    suffix: str
    source: str
    gpu_source: str
    releases: tuple[Release, ...]


def images(engine: str) -> Images:
    """The images with ``engine``: ``vllm`` or ``trtllm``.

    Raises:
        UsageError: TW-D01 if there is no such profile, TW-D02 or TW-K01 if it is damaged.
    """
    return profiles.load(Images, profiles.find(f"releases/{engine}.toml"))
