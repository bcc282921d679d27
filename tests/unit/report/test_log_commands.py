"""What CI systems take for commands in a log, in every place of a text and every media type."""

import json
import xml.etree.ElementTree as ET

import pytest
import yaml

from kyvsim.report.formats import (
    ANNOTATIONS,
    JSON,
    TEXT,
    YAML,
    has_log_command,
    log_safe,
    log_safe_pieces,
)
from kyvsim.report.object_text import to_yaml


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("::error::no", "\\x3a:error::no"),
        ("::anything", "\\x3a:anything"),
        ("a\n  ::set-env x\nb", "a\n  \\x3a:set-env x\nb"),
        ("a ::error:: b", "a \\x3a:error:: b"),
        ("a ::error file=x,line=1::b", "a \\x3a:error file=x,line=1::b"),
        ("x::a::b::y", "x\\x3a:a\\x3a:b::y"),
        ("a\n##[error]x\n##vso[task]", "a\n\\x23#[error]x\n\\x23#vso[task]"),
        ("a ##[group]", "a \\x23#[group]"),
        ("a ##vso[task.setvariable variable=x]y", "a \\x23#vso[task.setvariable variable=x]y"),
        ("a ##TeamCity[message text='x']", "a \\x23#TeamCity[message text='x']"),
        ("###[error]", "#\\x23#[error]"),
        ("a ##\xadvso[x]", "a \\x23#\xadvso[x]"),
        ("a #\u200b#[x]", "a \\x23\u200b#[x]"),
        ("a\r::error::x", "a\\x0d\\x3a:error::x"),
        (
            "section_start:1560896352:name\r\x1b[0K",
            "\\x73ection_start:1560896352:name\\x0d\\x1b[0K",
        ),
        ("a section_end:1:n", "a \\x73ection_end:1:n"),
        ("travis_fold:start:x", "\\x74ravis_fold:start:x"),
    ],
)
def test_commands_are_shown_as_text_anywhere(text, shown):
    assert log_safe(text) == shown
    assert has_log_command(text)
    assert not has_log_command(log_safe(text))


@pytest.mark.parametrize(
    "text",
    [
        "a::b\nc",
        "std::vector<int> x",
        "2001:db8::1 and fe80::1",
        "# ## heading",
        "## [link](x)",
        "issue ##12",
        "section_start: 5",
        "--- a\n+++ b\n~~~",
        "tab\tand\nend\n",
        "… · ✓ ü",
    ],
)
def test_other_text_stays(text):
    assert log_safe(text) == text
    assert not has_log_command(text)


def test_colours_do_not_hide_a_command_and_are_kept_where_the_program_writes_them():
    assert log_safe("\x1b[31m::x::\x1b[0m", colours=True) == "\x1b[31m\\x3a:x::\x1b[0m"
    assert log_safe("\x1b[31m::x\x1b[2J", colours=False) == "\\x1b[31m::x\\x1b[2J"
    assert log_safe("\x1b[31mx\x1b[2J", colours=True) == "\x1b[31mx\\x1b[2J"


HOSTILE = "a ##[x]\\##vso[y] ::z:: \\::error a=b::c\n::end::\r\u202e"


def test_data_is_the_same_behind_escapes():
    text = log_safe(json.dumps({HOSTILE: [HOSTILE]}), JSON)
    assert not has_log_command(text)
    assert json.loads(text) == {HOSTILE: [HOSTILE]}
    text = log_safe(to_yaml({HOSTILE: [HOSTILE]}), YAML)
    assert not has_log_command(text)
    assert yaml.safe_load(text) == {HOSTILE: [HOSTILE]}
    root = ET.Element("a", {"b": "##[x] ::y::"})
    root.text = "\n::error::##vso[z]"
    text = log_safe(ET.tostring(root, encoding="unicode"), "application/xml")
    assert not has_log_command(text)
    assert ET.fromstring(text).attrib == root.attrib
    assert ET.fromstring(text).text == root.text


@pytest.mark.parametrize(
    "text", ["plain ##[x] text", "::a::", "first\nsecond ##vso[x]\n", "x\n  ::b c::\n", "##[k]: v"]
)
def test_scalars_of_yaml_with_commands_are_quoted(text):
    for value in ({text: text}, [text], {"a": {"b": [text]}}, text):
        written = to_yaml(value)
        assert log_safe(written, YAML) == written
        assert yaml.safe_load(written) == value


def test_commands_of_our_own_stay_and_what_users_wrote_in_them_does_not():
    lines = (
        "::error file=a%3A%3Ab,title=##[x]::say ::warning::no ##vso[y]\n::group::theirs\n1 failed\n"
    )
    assert log_safe(lines, ANNOTATIONS) == (
        "::error file=a%3A%3Ab,title=\\x23#[x]::say \\x3a:warning::no \\x23#vso[y]\n"
        "\\x3a:group::theirs\n"
        "1 failed\n"
    )


@pytest.mark.parametrize("media", [TEXT, JSON, ANNOTATIONS])
def test_pieces_may_end_anywhere(media):
    text = "one ##[x] two\n  ::err::or three\n" * 3 + "rest ##vso[a]"
    for size in range(1, 9):
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        assert "".join(log_safe_pieces(pieces, media)) == log_safe(text, media)


def test_a_line_without_end_is_not_kept_for_ever():
    piece = "x" * (1 << 16)
    written = log_safe_pieces([piece] * 40 + ["a ##", "[b]"], JSON)
    lengths = []
    text = ""
    for one in written:
        lengths.append(len(one))
        text += one
    assert max(lengths) < 2 << 20
    assert text == piece * 40 + "a \\u0023#[b]"
