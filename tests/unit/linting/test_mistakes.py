"""Mistakes of policy authors: each file of `mistakes/` has one, and names the code and the advice.

A comment `# KV222: text` is on the line that is reported; the message or a line below it contains
the text.
"""

import re
from pathlib import Path

import pytest

from kyvsim.api.lint import lint

MISTAKES = sorted((Path(__file__).parent / "mistakes").glob("*.yaml"))
_EXPECTED = re.compile(r"  # (KV\d+): (.*)$")


@pytest.mark.parametrize("file", MISTAKES, ids=lambda file: file.stem)
def test_a_mistake_is_reported_on_its_line_with_advice(file):
    lines = file.read_text(encoding="utf-8").split("\n")
    ((number, code, text),) = (
        (number, *found.groups())
        for number, line in enumerate(lines, 1)
        if (found := _EXPECTED.search(line))
    )
    reported = [
        "\n".join((one.message, *one.excerpt))
        for one in lint([str(file)]).diagnostics
        if (one.code, one.location.line) == (code, number)
    ]
    assert any(text in message for message in reported), reported
