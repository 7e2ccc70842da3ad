"""What the images hold: every fact once, sourced and graded; unknown is unknown."""

from __future__ import annotations

from itertools import product

import pytest

from wizard.advise import engines
from wizard.catalog.contents import APP, FACTS, GIT, PACKAGE, PYTHON, TOOLS, contents
from wizard.catalog.releases import images, version
from wizard.catalog.trtllm_tools import tools

TAGS = [release.tag for release in images("trtllm").releases]


def test_every_fact_has_a_grade_and_a_source_and_occurs_once() -> None:
    table = contents()
    for content in table.contents:
        assert content.fact in FACTS
        assert content.grade in table.grades
        assert len(content.source) > 10
    for tag, fact in product(TAGS, FACTS):
        rows = [
            content for content in table.contents if content.fact == fact and version(content.since) <= version(tag)
        ]
        assert sum(row.until is None or version(tag) < version(row.until) for row in rows) <= 1, (tag, fact)


@pytest.mark.parametrize(
    ("tag", "fact", "value"),
    [
        ("23.10", PACKAGE, False),
        ("23.12", TOOLS, False),
        ("24.02", PACKAGE, False),
        ("24.03", TOOLS, False),
        ("24.04", PACKAGE, True),
        ("24.04", TOOLS, True),
        ("24.12", APP, False),
        ("25.01", APP, True),
        ("26.07", TOOLS, True),
        ("24.01", GIT, True),
        ("24.11", PYTHON, "3.10.12"),
        ("24.12", PYTHON, "3.12.3"),
    ],
)
def test_what_an_image_holds(tag: str, fact: str, value: object) -> None:
    content = contents().of(tag, fact)
    assert content is not None
    assert content.value == value


@pytest.mark.parametrize(("tag", "fact"), [("23.09", TOOLS), ("24.02", PYTHON), ("23.10", GIT), ("23.12", APP)])
def test_what_no_source_states_is_unknown(tag: str, fact: str) -> None:
    assert contents().of(tag, fact) is None


def test_scripts_are_taken_from_an_image_only_where_it_has_them() -> None:
    for release in images("trtllm").releases:
        if tools().sources_of(release.engine).in_image:
            content = contents().of(release.tag, APP)
            assert content is not None
            assert content.value is True


def test_an_image_that_is_newer_than_the_last_engines_builds_none() -> None:
    newest = images("trtllm").releases[0]
    assert engines.obstacle(newest) is None
    assert newest.engine == tools().engines.last
    assert engines.later("23.12")[0] == "24.04"
    assert engines.later(newest.tag) == ()
