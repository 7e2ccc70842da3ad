"""The list as it is shown: titles of groups, a short form, and what a misspelled name may mean."""

from __future__ import annotations

from wizard.plan.offer_list import headers, label, meant, shortened
from wizard.plan.offers import Suggestion, suggestions
from wizard.probe.shorthand import host

OFFERS = suggestions(host("1xH100"), None, offline=False, ask=False)


def test_each_group_has_one_title_above_its_first_model() -> None:
    titles = [title for title in headers(OFFERS) if title]
    assert titles[0] == "Best for this machine"
    assert sorted(titles[1:]) == [
        "Large: 40 B parameters and more",
        "Medium: 8 to 40 B parameters",
        "Small: less than 8 B parameters",
    ]
    assert headers([Suggestion("a/b", "b")]) == [""]
    assert (label(OFFERS[0]), label(Suggestion("a/b", "b"))) == ("Best for this machine", "")


def test_the_short_list_has_some_of_each_size_and_whatever_needs_no_network() -> None:
    short = shortened(OFFERS)
    groups = [offer.group for offer in short if offer.needs_network]
    assert {group: groups.count(group) for group in groups} == {"best": 1, "medium": 3, "large": 3, "small": 3}
    assert "demo" in [offer.ref for offer in short]


def test_a_misspelled_name_means_the_nearest_usable_models() -> None:
    first = meant("qwen3:8bb", OFFERS)[0]
    assert (first.ref, first.group) == ("Qwen/Qwen3-8B", "meant")
    assert [offer.ref for offer in meant("dmo", OFFERS)] == ["demo"]
    assert meant("Qwen/Qwen3-8BB", OFFERS)[0].ref == "Qwen/Qwen3-8B"
    assert meant("zzzzzz", OFFERS) == []
