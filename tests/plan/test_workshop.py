"""Pins: checked by their questions, agreeing with what is given, and a port for each seat."""

from __future__ import annotations

import pytest

from wizard.advise.advice import Constraints
from wizard.catalog.workshops import Workshop
from wizard.kernel.errors import UsageError
from wizard.plan.workshop import constraints_of, pinned_words, with_pins, with_seat


@pytest.mark.parametrize(
    ("pin", "code"),
    [
        ({"modell": "demo"}, "TW-U30"),
        ({"users": "two"}, "TW-U31"),
        ({"users": ["two"]}, "TW-U31"),
        ({"users": 0}, "TW-U32"),
        ({"hf_token": "hf_x"}, "TW-U34"),
    ],
)
def test_a_pin_is_checked_by_its_question(pin: dict[str, object], code: str) -> None:
    with pytest.raises(UsageError) as caught:
        with_seat(Workshop("Mine", pin=pin))
    assert caught.value.code == code


@pytest.mark.parametrize(("seat", "port"), [(0, 8000), (1, 8010), (12, 8120), (5753, 65_530)])
def test_each_seat_has_its_ports(seat: int, port: int) -> None:
    assert with_seat(Workshop("Mine", ports_per_seat=10), seat).pin == {"http_port": port}


def test_without_a_number_it_is_the_first_seat() -> None:
    assert with_seat(Workshop("Mine", ports_per_seat=10)).pin == {"http_port": 8000}


def test_the_last_seat_ends_with_the_last_port() -> None:
    mine = Workshop("Mine", pin={"http_port": 65_530}, ports_per_seat=3)
    assert with_seat(mine, 1).pin == {"http_port": 65_533}
    with pytest.raises(UsageError) as caught:
        with_seat(mine, 2)
    assert caught.value.what == "seat 2 would need port 65536"
    assert "The highest port is 65533" in caught.value.todo


def test_a_pinned_port_is_the_first_seats() -> None:
    made = with_seat(Workshop("Mine", pin={"http_port": 9000}, ports_per_seat=3), 2)
    assert made.pin == {"http_port": 9006}


@pytest.mark.parametrize("seat", [-1, 5754])
def test_a_seat_without_a_port_is_refused(seat: int) -> None:
    with pytest.raises(UsageError) as caught:
        with_seat(Workshop("Mine", ports_per_seat=10), seat)
    assert caught.value.code == "TW-U51"
    assert f"seat {seat}" in caught.value.what


def test_seats_of_their_own_machines_need_no_ports() -> None:
    assert with_seat(Workshop("Mine", pin={"users": 2}), 3).pin == {"users": 2}


def test_what_is_given_agrees_with_the_pins_or_is_refused() -> None:
    mine = Workshop("Mine", pin={"users": 2})
    assert with_pins(mine, {"users": 2, "tp": 1}) == {"users": 2, "tp": 1}
    assert with_pins(mine, {}) == {"users": 2}
    with pytest.raises(UsageError) as caught:
        with_pins(mine, {"users": 4})
    assert caught.value.code == "TW-U50"
    assert "users cannot be 4" in caught.value.what
    assert "--users" in caught.value.todo


def test_a_pinned_constraint_goes_before_the_users() -> None:
    mine = Workshop("Mine", pin={"users": 2, "model": "demo"})
    assert constraints_of(mine, Constraints(users=9, tp=1)) == Constraints(users=2, tp=1)
    assert constraints_of(Workshop(), Constraints(users=9)) == Constraints(users=9)


def test_pins_are_shown_with_their_questions() -> None:
    mine = Workshop("Mine", pin={"users": 2, "name": "first", "model": "demo"})
    assert pinned_words(mine, "advice") == "Set by your facilitator: Number of concurrent users: 2"
    assert pinned_words(mine, "review") == "Set by your facilitator: Server name: first"
    assert pinned_words(mine, "machine") == ""
    switches = [Workshop("Mine", pin={"as_published": value}) for value in (True, False)]
    prefix = "Set by your facilitator: Serve the model as published: "
    assert [pinned_words(workshop, "advice") for workshop in switches] == [f"{prefix}yes", f"{prefix}no"]
    assert pinned_words(Workshop(), "advice") == ""
