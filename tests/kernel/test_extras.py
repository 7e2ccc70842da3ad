from __future__ import annotations

import shlex
import sys

import pytest

from wizard.kernel import extras


@pytest.mark.parametrize(
    ("pip", "command"),
    [
        (object(), ["/my env/bin/python", "-m", "pip", "install", "triton-wizard[perf]"]),
        (None, ["uv", "pip", "install", "--python", "/my env/bin/python", "triton-wizard[perf]"]),
    ],
)
def test_an_extra_goes_into_the_environment_that_asks(
    pip: object | None, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not into whatever environment is on PATH; one made by uv has no pip."""
    monkeypatch.setattr(sys, "executable", "/my env/bin/python")
    monkeypatch.setattr(extras, "find_spec", lambda name: pip)
    assert shlex.split(extras.install("perf")) == command
