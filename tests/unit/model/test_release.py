"""The records of releases: each fact is one in which releases differ."""

import re
from pathlib import Path

import pytest

import kyvsim
from kyvsim.model.release import NEWEST, RELEASES, V_1_19_0, V_1_19_1, Release

PACKAGE = Path(kyvsim.__file__).parent
FACTS = [name for name in Release._fields if name != "name"]


@pytest.mark.parametrize("fact", Release._fields)
def test_releases_differ_in_every_fact(fact):
    assert len({getattr(one, fact) for one in RELEASES.values()}) > 1


@pytest.mark.parametrize("fact", FACTS)
def test_every_fact_is_read(fact):
    own = PACKAGE / "model" / "release.py"
    readers = re.compile(rf"\b(?:release|self)\.{fact}\b")
    assert any(readers.search(path.read_text("utf-8")) for path in (own, *PACKAGE.rglob("*.py")))


def test_facts_are_read_in_few_modules():
    # Except for the table that says what each fact means for users.
    readers = re.compile(rf"\brelease\.(?:{'|'.join(FACTS)})\b")
    found = {one for one in PACKAGE.rglob("*.py") if readers.search(one.read_text("utf-8"))}
    assert len(found) < 10, sorted(found)


def test_no_code_compares_releases():
    found = re.compile(r"release(\.name)? *(==|!=|<|>)|(==|!=|<=|>=|\bis\b|\bin\b) *V_1_")
    for path in PACKAGE.rglob("*.py"):
        assert not found.search(path.read_text("utf-8")), path


def test_releases_are_known_by_their_names_the_newest_last():
    assert [*RELEASES] == ["1.19.0", "1.19.1"]
    assert RELEASES[NEWEST.name] is NEWEST is [*RELEASES.values()][-1]


@pytest.mark.parametrize(
    ("release", "start"),
    [
        (V_1_19_0, "Policy (kyverno.io) is deprecated and will be removed in a future release; "),
        (V_1_19_1, "kyverno.io/v2beta1 Policy is deprecated and will be removed in a future "),
    ],
)
def test_deprecated_kinds_are_named_with_what_replaces_them(release, start):
    text = release.deprecation("kyverno.io/v2beta1", "Policy")
    assert text.startswith(start)
    assert "migrate to NamespacedValidatingPolicy" in text


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [
        ("policies.kyverno.io/v1", "PolicyException"),
        ("kyverno.io/v2", "GlobalContextEntry"),
        ("v1", "Policy"),
    ],
)
def test_other_kinds_are_not_deprecated(api_version, kind):
    assert V_1_19_1.deprecation(api_version, kind) == ""
