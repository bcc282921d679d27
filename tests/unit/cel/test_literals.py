"""What the texts of tokens stand for, up to the last and from the first that they cannot be."""

import pytest

from kyvsim.cel.lexer import read_bytes, read_double, read_int, read_string, read_uint

LARGEST = 1 << 63


@pytest.mark.parametrize(
    ("token", "value"),
    [
        ("0", 0),
        ("-0", 0),
        ("007", 7),
        ("0x1F", 31),
        ("-0x1f", -31),
        (f"{LARGEST - 1}", LARGEST - 1),
        (f"-{LARGEST}", -LARGEST),
        (f"{'0' * 399}1", 1),
        (f"-{'0' * 399}1", -1),
    ],
)
def test_whole_numbers(token, value):
    assert read_int(token) == value


@pytest.mark.parametrize("token", [f"{LARGEST}", f"-{LARGEST + 1}", "0" * 401, f"-{'9' * 5000}"])
def test_whole_numbers_of_64_bits_only(token):
    with pytest.raises(ValueError, match=r"^invalid int literal$"):
        read_int(token)


def test_whole_numbers_without_a_sign():
    assert [read_uint(f"{number}u") for number in (0, 7, 2 * LARGEST - 1)] == [
        0,
        7,
        2 * LARGEST - 1,
    ]
    assert read_uint("0xffU") == 255
    for token in (f"{2 * LARGEST}u", f"{'0' * 401}u"):
        with pytest.raises(ValueError, match=r"^invalid uint literal$"):
            read_uint(token)


def test_doubles():
    assert [read_double(token) for token in ("1.5", "-2e3", "1e308")] == [1.5, -2000.0, 1e308]
    for token in ("1e309", "-1e309"):
        with pytest.raises(ValueError, match=r"^invalid double literal$"):
            read_double(token)


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ('""', ""),
        ("'a'", "a"),
        ('"""a"b"""', 'a"b'),
        ("'''\r\na\rb'''", "\na\nb"),
        (r"r'\x41'", r"\x41"),
        (r"R'\n'", r"\n"),
        (r"'\a\b\f\n\r\t\v\\\'\"\`\?'", "\a\b\f\n\r\t\v\\'\"`?"),
        (r"'a\x41b\X42c\101d'", "aAbBcAd"),
        (r"'\377'", "\xff"),
        (r"'\u0041\ud7ff\ue000'", "A\ud7ff\ue000"),
        (r"'\U00000041\U0010ffff'", "A\U0010ffff"),
    ],
)
def test_texts(token, text):
    assert read_string(token) == text


@pytest.mark.parametrize("code", ["ud800", "udfff", "U00110000", "U0000dabc"])
def test_texts_have_code_points_only(code):
    with pytest.raises(ValueError, match=r"^invalid unicode code point$"):
        read_string(rf"'\{code}'")


@pytest.mark.parametrize(
    ("token", "data"),
    [
        ("b''", b""),
        ("b'é'", "é".encode()),
        (r"br'\x41'", rb"\x41"),
        (
            r"b'é\x41é\xffé\101\377\né'",
            "é".encode() + b"A" + "é".encode() + b"\xff" + "é".encode() + b"A\xff\n" + "é".encode(),
        ),
        (r"B'''\''''", b"'"),
    ],
)
def test_bytes(token, data):
    assert read_bytes(token) == data


@pytest.mark.parametrize("code", ["u0041", "U00000041"])
def test_bytes_have_no_code_points(code):
    with pytest.raises(ValueError, match=r"^unable to unescape string$"):
        read_bytes(rf"b'\{code}'")
