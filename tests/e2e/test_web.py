"""The whole journey with the real tritonserver in a real browser, with keys only. No hub is asked."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.e2e.conftest import Wizard
from tests.tui.browser import Browser, program
from tests.tui.web_server import served

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("terminal"),
    pytest.mark.usefixtures("other_ports"),
    pytest.mark.timeout(900),
    pytest.mark.skipif(program() is None, reason="no chromium on PATH"),
]


async def test_from_the_address_to_an_answer_in_a_browser(wizard: Wizard, tmp_path: Path) -> None:
    answers = tmp_path / "answers.toml"
    answers.write_text('model = "demo"\n')
    argv = wizard.argv("web", "--no-open", "--offline", "--answers", str(answers))
    with served(*argv) as page:
        async with Browser(tmp_path / "profile") as browser:
            await browser.open(page.address)
            for label in ("Choose a model", "Use this setup", "Run it"):
                await browser.sees(label)
                await browser.presses("Enter")
            await browser.sees("Chat with it", seconds=200)
            await browser.presses("Enter")
            await browser.sees("Ask something")
            await browser.types("What is vLLM?")
            await browser.sees("What is vLLM?")
            await browser.presses("Enter")
            await browser.sees("open-source", "tokens/s")
            assert {urlsplit(request).hostname for request in browser.requests if not request.startswith("data:")} == {
                "127.0.0.1"
            }
            assert browser.problems == []
        page.ends()
        assert page.process.returncode == 0
    assert {load["name"]: load["state"] for load in json.loads(wizard.run("status", "--json"))}["demo"] == "ready"
