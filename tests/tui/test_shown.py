"""States that differ from a pictured one in their words only: what they say in a terminal of 80x24."""

from __future__ import annotations

import pytest

from tests.tui.pictured import STATES
from tests.tui.test_snapshots import CASES
from tests.tui.walking import StillApp, shown

WORDS: dict[str, tuple[str, ...]] = {
    "welcome_with_gpus": ("4 × NVIDIA H100 80GB HBM3", "driver 550.54.15", "✓ Triton can run here"),
    "welcome_with_a_server": ("▸ Chat with demo", "http://127.0.0.1:8010", "129 MiB, 140 MiB predicted"),
    "welcome_without_python": ("✗ No Python on this machine can run Triton's Python backend", "▸ Check the machine"),
    "machine": ("✓ Ready to go.", "(TW-P03)", "21.3 GiB free of 24.0 GiB", "41 °C", "8000 in use", "⏎ Choose a model"),
    "machine_without_python": ("✗ No Python on this machine can run", "→ Install Python 3.10, 3.11 or 3.12"),
    "advice": (
        "How should triton-wizard-demo run on this machine?",
        "▸ llama.cpp · Q8_0  ★ best",
        "KV cache     24.0 MiB",
    ),
    "advice_other_way": ("▸ llama.cpp · Q8_0\n", "50 tokens/s per user (17 to 25)", "14.0 GiB used of 16.0 GiB"),
    "advice_why": (
        "Explanation of these figures · vLLM · bfloat16",
        "16,060,522,496 bytes (15.0 GiB)",
        "Source: bfloat16: 16 bits",
    ),
    "advice_refused": ("Not possible on this machine", "✗ vLLM · NVFP4", "→ FP8, or a newer GPU"),
    "review_cannot_build": ("✗ TW-L05", "→ Take its figures to the image by hand", "Esc Back"),
    "review_other_step": ("▸ 2 Get the model  0.1 s", "The weights are here already.", "$ ln -sfn a b"),
    "chat": (
        "Triton serves your own model on this machine",
        "What does [bold]dynamic batching[/] do?",
        "≈ 0 / 1,024 tokens",
    ),
    "chat_questions": ("▸ What is Triton?", "Ask something …", "⏎ Choose"),
    "chat_settings_without_chance": ("Temperature", "Top-p · no effect now", "Seed · no effect now"),
    "chat_save": ("Save the conversation", "demo.md", "⏎ Apply"),
    "chat_endpoint": ("Use this server elsewhere", "HTTP     http://127.0.0.1:8010", "chat demo", "logs/triton.log"),
    "help": ("You are chatting with a served model", "⏎   Send", "^E  Edit the last question"),
    "review_explained": ("What happens", "pip3 install tensorrt-llm==0.10.0", "F3 Stop explaining"),
}


def test_every_state_is_pictured_or_read() -> None:
    assert {name for name, _, _ in CASES} ^ {*WORDS} == {*STATES}


@pytest.mark.parametrize("name", WORDS)
async def test_what_is_shown(name: str) -> None:
    journey, walk = STATES[name]
    app = StillApp(journey())
    async with app.run_test(size=(80, 24)) as pilot:
        await walk(pilot)
        screen = "\n".join(shown(app)) + "\n"
        assert [words for words in WORDS[name] if words not in screen] == [], screen
