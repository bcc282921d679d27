"""Checks of rules against their own texts: words that cancel a claim, and rules that fit them."""

import pytest

from kyvsim.linting.descriptions import understated_rules

KEY = "{{ request.object.spec.ports[].name }}"
ALL_NOT_IN = {"key": KEY, "operator": "AllNotIn", "value": ["http"]}
DENIES = {"validate": {"message": "m", "deny": {"conditions": {"any": [ALL_NOT_IN]}}}}
FORCES = {"mutate": {"patchStrategicMerge": {"spec": {"+(runtimeClassName)": "gvisor"}}}}
REQUIRES = {
    "validate": {"message": "m", "pattern": {"spec": {"=(backend)": {"=(resource)": "?*"}}}}
}


@pytest.mark.parametrize(
    ("rule", "said", "reported"),
    [
        (DENIES, "Every port is named http.", True),
        (DENIES, "At least one port is named http, and all have a name.", False),
        (DENIES, "Ports are named http.", False),
        (FORCES, "Overrides the runtime class.", True),
        (FORCES, "Sets the runtime class without overriding it: overrides nothing.", False),
        (REQUIRES, "The backend is required.", False),
    ],
)
def test_only_clear_words_count(remarks, rule, said, reported):
    annotations = {"policies.kyverno.io/description": said}
    found = remarks(understated_rules, rule, annotations=annotations)
    assert [code for code, _, _ in found] == ["KV391"] * reported
