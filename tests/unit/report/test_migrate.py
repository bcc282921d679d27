"""New policies as YAML."""

import pytest
import yaml

from kyvsim.report.migrate import document_yaml

# Policies as YAML that people go on with: where long texts are folded.

LONG = "variables.target.spec.template.spec"
HINT = "and so on " * 9


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        pytest.param(
            f"'A volume of class ' + {LONG} + ' at ' + object.name + ' has no size.'",
            [f"'A volume of class ' + {LONG} + ' at ' + object.name +", "' has no size.'"],
            id="not within a text of an expression",
        ),
        pytest.param(
            f"'{HINT}and a little more'",
            [f"'{HINT}and a", "little more'"],
            id="but within one that is longer than a line",
        ),
        pytest.param(
            f"It isn't {HINT}what one's",
            [f"It isn't {HINT.removesuffix(' on ')}", "on what one's"],
            id="apostrophes are no quotes",
        ),
    ],
)
def test_long_texts_are_folded_between_words(text, lines):
    written = document_yaml({"spec": {"message": text}})
    assert yaml.safe_load(written)["spec"]["message"] == text
    assert [one.strip() for one in written.splitlines()[2:]] == lines
