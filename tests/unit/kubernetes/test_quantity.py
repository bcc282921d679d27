import pytest

from kyvsim.kubernetes.quantities import parse_quantity, quantity_problem


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1", "1"),
        ("1000m", "1"),
        ("1500m", "1500m"),
        ("0.1", "100m"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1000Mi", "1000Mi"),
        ("0.5Ki", "512"),
        ("1e3", "1e3"),
        ("12E6", "12e6"),
        ("1E", "1E"),
        ("-2.5k", "-2500"),
        (".5", "500m"),
        ("5.", "5"),
        ("+7", "7"),
        ("0.0000000001", "1n"),
        ("8Ei", "9223372036854775807"),
        ("123456789012345678901", "123456789012345678901"),
        ("m", "0"),
        ("-", "0"),
        ("Ki", "0"),
    ],
)
def test_canonical_text(text, canonical):
    assert str(parse_quantity(text)) == canonical


@pytest.mark.parametrize(
    "text",
    ["", "x", "1x", "1 Gi", " 1", "1mi", "1KI", "1e", "1..2", "--1", "1e5e", "Ei", "٣", "1\n"],
)
def test_no_quantity(text):
    assert parse_quantity(text) is None


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ("1", "1001m"),
        ("1000M", "1Gi"),
        ("-1Gi", "0"),
        ("-2", "-1"),
        ("0", "1n"),
        ("1e3", "1Ki"),
        ("1", "1e100000000"),
        ("-1e100000000", "-5"),
        ("99", "1e2"),
    ],
)
def test_order(small, large):
    left, right = parse_quantity(small), parse_quantity(large)
    assert left < right
    assert left <= right
    assert right > left
    assert right >= left
    assert left != right


@pytest.mark.parametrize(("left", "right"), [("1Gi", "1024Mi"), ("1", "1000m"), ("0", "0Gi")])
def test_equality_is_by_value(left, right):
    assert parse_quantity(left) == parse_quantity(right)
    assert hash(parse_quantity(left)) == hash(parse_quantity(right))


def test_arithmetic_keeps_the_first_format():
    one = parse_quantity("1Gi")
    assert str(one.plus(parse_quantity("1Mi"))) == "1025Mi"
    assert str(one.minus(parse_quantity("1"))) == "1073741823"
    assert str(parse_quantity("0").plus(one)) == "1Gi"
    assert str(one.times(parse_quantity("0.5"))) == "512Mi"
    assert str(one.divided_by(parse_quantity("3"))) == "357913941"


def test_absurd_sizes_end_in_an_error_and_not_in_a_hang():
    huge = parse_quantity("1e1000000000")
    with pytest.raises(OverflowError):
        huge.plus(parse_quantity("1"))
    with pytest.raises(OverflowError):
        huge.divided_by(parse_quantity("1e-9"))
    assert huge.approximate() == float("inf")
    assert parse_quantity("9" * 5000) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "regular expression"),
        ("1 Gi", "regular expression"),
        ("nn", "suffix"),
        ("1GiB", "regular expression"),
        ("1KiM", "suffix"),
        ("1eE3", "suffix"),
        ("1e99999999999999999999", "suffix"),
    ],
)
def test_what_is_wrong_with_a_text_that_is_none(text, problem):
    assert parse_quantity(text) is None
    assert problem in quantity_problem(text)
