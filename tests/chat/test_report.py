from __future__ import annotations

import pytest

from wizard.chat.conversation import Stats
from wizard.chat.report import figures


@pytest.mark.parametrize(
    ("stats", "text"),
    [
        (Stats(12, 0.05, 0.1, "stop"), "220.0 tokens/s · TTFT 50 ms · 12 tokens"),
        (Stats(5, 12.3, 112.3, "length"), "0.0 tokens/s · TTFT 12 s · 5 tokens · cut off at max_tokens"),
        (Stats(1, 0.05, 0.05, "stop"), "TTFT 50 ms · 1 token"),
        (Stats(0, None, 0.1, "gate"), "0 tokens · the model was not confident, so it answered that it does not know"),
        (Stats(None, 0.05, 2.0, "end"), "TTFT 50 ms"),
        (Stats(None, None, 2.0, "end"), "2.0 s in total"),
        (None, "stopped"),
    ],
)
def test_what_was_measured_in_words(stats: Stats | None, text: str) -> None:
    assert figures(stats) == text
