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


ANY_IMAGE = "object.spec.containers.exists(c, c.image.startsWith('a/'))"
ALL_IMAGES = "object.spec.containers.all(c, c.image.startsWith('a/'))"


@pytest.mark.parametrize(
    ("text", "message", "advice"),
    [
        (ANY_IMAGE, "All images are from a.", "write `all`"),
        (ANY_IMAGE, "Every single container is from a.", "write `all`"),
        (f"has(object.spec.hostname) && {ANY_IMAGE}", "All images are from a.", "write `all`"),
        (ANY_IMAGE.replace("object.spec.containers", "variables.v"), "All images.", "write `all`"),
        (ANY_IMAGE.replace("exists", "exists_one"), "All images are from a.", "write `all`"),
        (
            f"{ANY_IMAGE.replace('exists', 'filter')}.size() > 0",
            "All images are from a.",
            "write `all`",
        ),
        (f"!{ALL_IMAGES}", "No image may be from a.", "`!list.exists(…)`"),
        (ALL_IMAGES, "At least one image is from a.", "write `exists`"),
        (ALL_IMAGES, "All images are from a, at least one image has a digest.", ""),
        (ALL_IMAGES, "All images are from a.", ""),
        (ANY_IMAGE, "All Pods have the proxy.", ""),
        (ANY_IMAGE, "Every Pod needs the container of the proxy.", ""),
        (ANY_IMAGE, "At least one of all images is from a.", ""),
        (f"!{ANY_IMAGE}", "No image may be from a.", ""),
        ("variables.names.exists(n, n == 'a')", "All images are from a.", ""),
        (f"{ANY_IMAGE.replace('exists', 'filter')}.size() > 1", "All images are from a.", ""),
    ],
)
def test_all_or_one_of_the_elements(written, text, message, advice):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    spec = {
        "matchConstraints": {"resourceRules": [{**rule, "resources": ["pods"]}]},
        "variables": [
            {"name": "v", "expression": "object.spec.containers + object.spec.?x.orValue([])"},
            {"name": "names", "expression": "['a', 'b']"},
        ],
        "validations": [{"expression": text, "message": message}],
    }
    found = [one for code, one in written("ValidatingPolicy", spec) if code == "KV391"]
    assert [advice in one for one in found] == [True] * bool(advice)
