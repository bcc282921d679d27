import pytest

from kyvsim.kubernetes.semver import parse_range, parse_version


def test_versions_in_order():
    texts = "0.9.9 1.0.0-1 1.0.0-2 1.0.0-alpha 1.0.0-alpha.1 1.0.0-beta 1.0.0 1.0.10 1.2.0 10.0.0"
    versions = [parse_version(text) for text in texts.split()]
    assert None not in versions
    assert versions == sorted(versions, reverse=False)
    assert len(set(versions)) == len(versions)
    assert parse_version("1.2.3+a") == parse_version("1.2.3+b")


@pytest.mark.parametrize(
    "text",
    [
        *("", "1", "1.2", "v1.2.3", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3-a_b"),
        *("1.2.3.4", "1..3", "18446744073709551616.0.0", "1.2.٣"),
    ],
)
def test_no_version(text):
    assert parse_version(text) is None


@pytest.mark.parametrize(
    ("accepted", "inside", "outside"),
    [
        (">=1.2.0 <2.0.0", "1.9.9", "2.0.0"),
        ("<1.0.0 || >=2.0.0", "2.1.0", "1.5.0"),
        ("1.2.x", "1.2.9", "1.3.0"),
        ("1.x", "1.9.0", "2.0.0"),
        (">1.2.x", "1.3.0", "1.2.9"),
        ("<=1.x", "1.9.9", "2.0.0"),
        ("!=1.0.0", "1.0.1", "1.0.0"),
        (">= 1.0.0", "1.0.0", "1.0.0-rc.1"),
        ("^1.x", "1.0.0", "1.0.1"),
    ],
)
def test_ranges(accepted, inside, outside):
    test = parse_range(accepted)
    assert test(parse_version(inside))
    assert not test(parse_version(outside))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "Last element in range is '||'"),
        ("|| 1.0.0", "First element in range is '||'"),
        ("1.0.0 || || 2.0.0", "Empty element in range"),
        ("latest", 'Could not get version from string: "latest"'),
        ("^1.0.0", 'Could not parse comparator "^" in "^1.0.0"'),
        (">1.0", "No Major.Minor.Patch elements found"),
    ],
)
def test_no_range(text, problem):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the message is compared below
        parse_range(text)
    assert problem in str(caught.value)
