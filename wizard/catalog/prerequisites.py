"""The commands that install the prerequisites of containers with GPUs, per distribution family: a profile."""

from __future__ import annotations

from dataclasses import dataclass

from wizard.catalog import profiles


@dataclass(frozen=True, slots=True)
class DistributionCommands:
    """Shell lines of a family; empty if NVIDIA's guide must be followed. ``words`` occur in the distribution's name."""

    name: str
    words: tuple[str, ...]
    driver: tuple[str, ...]
    driver_source: str
    docker: tuple[str, ...]
    docker_source: str
    podman_init: tuple[str, ...]
    podman_init_source: str
    toolkit: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CommonCommands:
    """Shell lines that are the same for all distributions."""

    toolkit_source: str
    docker_runtime: tuple[str, ...]
    podman_runtime: tuple[str, ...]
    group: tuple[str, ...]
    start: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Commands:
    """All of ``profiles/prerequisites.toml``."""

    systems: tuple[DistributionCommands, ...]
    common: CommonCommands

    def of(self, system: str) -> DistributionCommands | None:
        """The family of a system's name."""
        low = system.lower()
        return next((candidate for candidate in self.systems if any(word in low for word in candidate.words)), None)


def commands() -> Commands:
    """Read the file.

    Raises:
        UsageError: TW-D01 if it is missing, TW-D02 or TW-K01 if it is damaged.
    """
    return profiles.load(Commands, profiles.find("prerequisites.toml"))
