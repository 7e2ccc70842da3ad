"""Lines for other programs: each is valid where it is pasted, fits a small terminal, and has no key in it."""

from __future__ import annotations

import shlex
from dataclasses import replace

import pytest
import yaml

from wizard.chat.elsewhere import elsewhere, programs, question
from wizard.plan.ports import Ports
from wizard.serve.endpoint import Endpoint

URL = "http://127.0.0.1:9000/v1"
OPEN = Endpoint("qwen3", "qwen3", "127.0.0.1", Ports(), 1, "2", "/log", ref="Qwen/Qwen3-8B", openai=URL)
KEYED = replace(OPEN, openai_key="/home/some body/gateway/key")
BY_NAME = [(name.split(",")[0], lines, endpoint) for endpoint in (OPEN, KEYED) for name, lines in programs(endpoint)]


@pytest.mark.parametrize("endpoint", [OPEN, KEYED], ids=["open", "keyed"])
def test_every_program_is_there_with_address_and_model(endpoint: Endpoint) -> None:
    lines = {name.split(",")[0]: text for name, text in programs(endpoint) if not name.startswith("API key")}
    assert [*lines] == ["curl", "Python", "Open WebUI", "aider", "llm", "LangChain", "Continue"]
    assert [name for name, text in lines.items() if URL not in text] == []
    assert [name for name, text in lines.items() if "qwen3" not in text] == ["Open WebUI"]  # it lists the models itself
    assert max(len(line) for text in lines.values() for line in text.splitlines()) <= 110


@pytest.mark.parametrize(("name", "lines", "endpoint"), BY_NAME)
def test_lines_are_valid_where_they_are_pasted(name: str, lines: str, endpoint: Endpoint) -> None:
    match name:
        case "Python" | "LangChain":
            compile(lines, name, "exec")
        case "llm":
            (model,) = yaml.safe_load(lines)
            assert (model["model_name"], model["api_base"]) == ("qwen3", URL)
            assert ("api_key_name" in model) == (endpoint is KEYED)
        case "Continue":
            config = yaml.safe_load(lines)
            assert {"name", "version", "schema"} <= {*config}
            assert config["models"][0]["apiBase"] == URL
        case "aider":
            words = shlex.split(lines.replace("\\\n", ""))
            assert words[words.index("--model") + 1] == "openai/qwen3"
        case _:
            assert shlex.split(lines.replace("\\\n", ""))


def test_a_key_is_read_from_its_file_by_the_shell() -> None:
    assert question(KEYED).startswith("export OPENAI_API_KEY=\"$(cat '/home/some body/gateway/key')\"\ncurl ")
    assert '-H "Authorization: Bearer $OPENAI_API_KEY"' in question(KEYED)
    assert "OPENAI_API_KEY" not in question(OPEN)
    assert 'api_key=os.environ["OPENAI_API_KEY"]' in elsewhere(KEYED, "chat")
    assert "os.environ" not in elsewhere(OPEN, "chat")  # the user's own key stays at home


def test_without_an_address_there_are_no_programs() -> None:
    assert "aider" not in elsewhere(replace(OPEN, openai=None), "chat")
