"""Tokens over time: none is lost, and none is before the first or after the last."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wizard.bench.load import Point
from wizard.bench.run import Request, Run
from wizard.bench.timeline import tokens_per_s

REQUEST = st.builds(
    lambda start, ttft, rest, tokens: Request(start, start + ttft + rest, 1000 * ttft, 0.0, 5, tokens),
    st.floats(0, 50), st.floats(0, 5), st.floats(0, 20), st.integers(0, 200),
)  # fmt: skip


def run(*requests: Request) -> Run:
    return Run(Point(concurrency=1), 1, 0.0, requests)


def test_a_request_is_even_from_its_first_token_to_its_last() -> None:
    rates = tokens_per_s(run(Request(0.0, 4.0, 2000.0, 4000.0, 5, 21)), 1.0)
    assert rates == pytest.approx((0.0, 0.0, 11.0, 10.0))  # the first token is at 2 s


@given(st.lists(REQUEST, min_size=1, max_size=8))
def test_no_token_is_lost_but_those_of_an_incomplete_last_part(requests: list[Request]) -> None:
    rates, last = tokens_per_s(run(*requests), 0.5), max(each.end_s for each in requests)
    assert rates is not None
    total = sum(each.output_tokens or 0 for each in requests)
    assert min(rates) >= 0
    assert sum(rates) * 0.5 <= total * (1 + 1e-6)
    assert len(rates) == max(1, int(last / 0.5 + 1e-9))
    if abs(last / 0.5 - round(last / 0.5)) < 1e-9 and last > 0.5:
        assert sum(rates) * 0.5 == pytest.approx(total)


def test_failed_and_uncounted_requests_are_no_tokens() -> None:
    good = Request(0.0, 2.0, 500.0, 2000.0, 5, 10)
    failed, uncounted = Request(0.0, 9.0, error="HTTP 503"), Request(0.0, 9.0, 100.0, 9000.0)
    assert tokens_per_s(run(good, failed, uncounted), 1.0) == tokens_per_s(run(good), 1.0)
    assert tokens_per_s(run(failed, uncounted), 1.0) is None
    assert tokens_per_s(run(), 1.0) is None


def test_an_answer_in_one_piece_is_at_its_end() -> None:
    assert tokens_per_s(run(Request(0.0, 2.0, None, None, 5, 10)), 1.0) == (0.0, 10.0)
