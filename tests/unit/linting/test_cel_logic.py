"""Contradictions, loops without effect, and tests that accept too much."""

import pytest
import yaml

from kyvsim.api.lint import lint
from kyvsim.load.files import Source


@pytest.fixture
def codes():
    """Return the codes for one expression of a policy for Pods, as a validation or otherwise."""

    def found(expression="", kind="ValidatingPolicy", **spec):
        rule = {
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["configmaps"],
        }
        policy = {
            "apiVersion": "policies.kyverno.io/v1",
            "kind": kind,
            "metadata": {"name": "p"},
            "spec": {
                "matchConstraints": {"resourceRules": [rule]},
                **spec,
            },
        }
        if expression:
            policy["spec"]["validations"] = [{"expression": expression, "message": "No."}]
        source = Source("p.yaml", yaml.safe_dump(policy), ".")
        return [one.code for one in lint([source]).diagnostics]

    return found


NAME = "object.metadata.name"


@pytest.mark.parametrize(
    "expression",
    [
        f"{NAME} == 'a' && {NAME} == 'b'",
        f"{NAME} == 'a' && !({NAME} in ['a', 'c'])",
        f"!({NAME} != 'a' || {NAME} != 'b')",
        f"{NAME}.startsWith('a') && {NAME}.startsWith('b')",
        f"{NAME} == 'a' && {NAME}.endsWith('b')",
        f"{NAME}.size() > 9 && {NAME}.size() < 5",
        f"{NAME}.size() > 9 && {NAME}.size() <= 9",
        "has(object.data) && !has(object.data)",
        "!has(object.immutable) && object.immutable == true",
        f"{NAME} != 'a' || {NAME} != 'b'",
        f"{NAME}.size() >= 0",
        f"0 > {NAME}.size()",
        f"{NAME} == {NAME}",
        f"{NAME} == 'a' || true",
        f"{NAME} == 'a' ? object.metadata.name != 'b' : object.metadata.name != 'b'",
        f"{NAME}.lowerAscii() == 'A'",
        f"{NAME} in []",
        f"{NAME}.split('-').size() > 0",
        f"!{NAME}.upperAscii().startsWith('a')",
        "request.resource.resource == 'ConfigMap'",
        "request.kind.kind in ['configmaps']",
        "request.resource.group == 'v1'",
        f"[1, 2].map(e, size({NAME})).all(n, n >= 0)",
        "resource.List('v1', 'secrets', 'a').size() > 0",
        "timestamp(object.metadata.creationTimestamp) - time.now() > duration('1h')",
        f"image({NAME}).tag() != ':latest'",
        f"image({NAME}).registry() in ['ghcr.io', 'ghcr.io/a']",
        f"image({NAME}).repository().startsWith('a:b')",
    ],
)
def test_contradictions(codes, expression):
    assert codes(expression) == ["KV240"]


@pytest.mark.parametrize(
    "expression",
    [
        f"{NAME} == 'a' || {NAME} == 'b'",
        f"{NAME} != 'a' && {NAME} != 'b'",
        f"{NAME} in ['a', 'b'] && {NAME} != 'a'",
        f"{NAME}.startsWith('a') && {NAME}.startsWith('ab') && {NAME}.endsWith('b')",
        f"{NAME}.size() > 5 && {NAME}.size() < 6.5",
        f"{NAME}.size() >= 5 && {NAME}.size() <= 5",
        f"{NAME}.size() > 0",
        f"{NAME}.lowerAscii() == 'a1'",
        f"{NAME}.split('-').size() > 1",
        f"{NAME}.split('-', 0).size() > 0",
        f"{NAME}.substring(0, 4) != 'team'",
        "request.resource.resource == 'pods/exec'",
        "request.kind.kind == 'ConfigMap' && request.kind.group == ''",
        f"{NAME} == 'a' ? {NAME} != 'b' : {NAME} != 'c'",
        f"!has(object.data) || {NAME} == 'a'",
        "has(object.data) || !has(object.data) && object.kind == 'ConfigMap'",
        "has(object.data) || object.?data.orValue({}).size() > 1",
        "!has(object.data) || object.data.size() > 1",
        "has(object.data) || has(object.data) && object.data.size() > 1",
        "has(object.data) || (has(object.immutable) && object.immutable)",
        f"[1, 2].map(e, e - size({NAME})).all(n, n >= 0)",
        "random('[a-z]') == 'a' && random('[a-z]') == 'b'",
    ],
)
def test_tests_that_can_hold(codes, expression):
    assert codes(expression) == []


@pytest.mark.parametrize(
    "expression",
    [
        "has(object.data) || object.data.size() > 1",
        f"{NAME} == 'a' || has(object.data) || object.data == {{}}",
        "!has(object.data) && object.data.size() > 1",
        f"!({NAME} == 'a' && !has(object.immutable) && object.immutable)",
    ],
)
def test_tests_of_a_field_that_is_missing(codes, expression):
    assert "KV240" in codes(expression)


def test_a_condition_for_other_operations_than_the_matched_ones(written):
    def reported(*texts):
        rule = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
        spec = {
            "matchConstraints": {"resourceRules": [{**rule, "operations": ["CREATE", "UPDATE"]}]},
            "matchConditions": [
                {"name": f"c{i}", "expression": text} for i, text in enumerate(texts)
            ],
            "validations": [{"expression": f"{NAME} != 'a'", "message": "No."}],
        }
        return [text for code, text in written("ValidatingPolicy", spec) if code == "KV240"]

    (text,) = reported("request.operation == 'DELETE'")
    assert "is not true for any of the matched operations" in text
    (text,) = reported("request.operation == 'CREATE'", "request.operation == 'UPDATE'")
    assert "is never true together with the matched operations and the conditions before" in text


def test_conditions_that_exclude_each_other(codes):
    def conditions(*texts):
        named = [{"name": f"c{i}", "expression": text} for i, text in enumerate(texts)]
        return codes(f"{NAME} != 'a'", matchConditions=named)

    assert conditions("request.namespace == 'a'", "request.namespace == 'b'") == ["KV240"]
    assert conditions("request.operation == 'DELETE'") == ["KV240"]
    assert conditions("request.operation == 'Delete'") == ["KV240"]
    assert conditions("request.operation == 'CREATE'") == []
    assert conditions("request.namespace != 'a'", "request.namespace == 'b'") == []


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (f"[1, 2].all(e, {NAME} != 'a')", ["KV242"]),
        (f"[1, 2].filter(e, {NAME} != 'a').size() > 1", ["KV242"]),
        (f"[1, 2].all(e, e > size({NAME}))", []),
        (f"[1, 2].all(i, e, i > size({NAME}))", []),
        (f"[1, 2].map(e, 1).sum() > size({NAME})", []),
    ],
)
def test_loops_that_do_not_read_their_elements(codes, expression, found):
    assert codes(expression) == found


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (f"{NAME}.matches('a-.*')", ["KV360"]),
        (f"{NAME}.matches('.*-a')", ["KV360"]),
        (f"{NAME} == 'b' || {NAME}.matches('a.+')", ["KV360"]),
        (f"{NAME}.startsWith('https://example.com')", ["KV360"]),
        (f"{NAME}.startsWith('example.com')", []),
        (f"{NAME}.startsWith('https://example.com/')", []),
        (f"{NAME}.matches('^a-.*')", []),
        (f"{NAME}.matches('.*-a$')", []),
        (f"{NAME}.matches('.*-a-.*')", []),
        (f"{NAME}.matches('-a-')", []),
        (f"{NAME}.matches('a[.*]')", []),
        (f"!{NAME}.matches('a-.*')", []),
        (f"{NAME}.matches('[a-z]+-[0-9]')", ["KV360"]),
        (f"{NAME}.matches('(?i)(dev|test)-a')", ["KV360"]),
        (f"{NAME}.matches('dev|test')", ["KV360"]),
        (f"{NAME}.matches('^v[0-9]+|latest$')", ["KV360"]),
        (f"!{NAME}.matches('^v[0-9]+|latest$')", ["KV360"]),
        (f"{NAME}.matches('^(dev|test)$')", []),
        (f"{NAME}.matches('^dev$|^test$')", []),
        (f"{NAME}.matches('^dev-|-test$')", []),
        (f"{NAME}.matches('^dev.*|.*test$')", []),
        (f"{NAME}.matches('[a-z]+$')", []),
        (f"!{NAME}.matches('[A-Z]')", []),
        (f"{NAME}.matches('^ghcr.io/a/')", ["KV360"]),
        (f"!{NAME}.matches('[a-z]+.apps.example.com$')", ["KV360"]),
        (f"{NAME}.matches(r'^ghcr\\.io/a/')", []),
        (f"{NAME}.matches('^ghcr[.]io/a/')", []),
        (f"{NAME}.matches('^[a-z.]+/a$')", []),
        (f"{NAME}.matches('^web-*')", ["KV360"]),
        (f"{NAME}.matches('^a/*$')", ["KV360"]),
        (f"{NAME}.matches('^[a-z]*$')", []),
        ("object.metadata.?annotations[?'a'].orValue('').matches('[A-Z]+-[0-9]+')", []),
        ("['a', 'b'].all(e, e.matches('[a-z]') && e.startsWith(request.name))", []),
    ],
)
def test_texts_that_accept_more_than_they_show(codes, expression, found):
    assert codes(expression) == found


def test_a_search_in_a_variable_is_read(codes):
    variables = [{"name": "fits", "expression": f"{NAME}.matches('[a-z]+-prod')"}]
    assert codes("variables.fits", variables=variables) == ["KV360"]
    assert codes("!variables.fits", variables=variables) == []


def test_defaults_that_are_not_those_of_kubernetes(codes):
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["serviceaccounts"],
    }
    constraints = {"resourceRules": [rule]}
    text = "object.?automountServiceAccountToken.orValue({}) == false"
    assert codes(text.format("false"), matchConstraints=constraints) == ["KV361"]
    assert codes(text.format("true"), matchConstraints=constraints) == []


def test_texts_that_functions_cannot_read(codes):
    def deletion(condition):
        named = [{"name": "c", "expression": condition}]
        return codes(kind="DeletingPolicy", schedule="0 3 * * *", conditions=named)

    age = "time.now() - timestamp(object.metadata.creationTimestamp)"
    assert deletion(f"{age} > duration('7d')") == ["KV350"]
    assert deletion(f"{age} > duration('168h')") == []
    assert deletion("quantity('10 GB').isGreaterThan(quantity('1Gi'))") == ["KV350"]
    assert deletion("object.metadata.name.matches('[')") == ["KV350"]


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (f"string({NAME}) >= '500m'", ["KV344"]),
        ("object.?data[?'limit'].orValue('0') < '2Gi'", ["KV344"]),
        ("'1h30m' > object.?data[?'age'].orValue('0')", ["KV344"]),
        (f"{NAME}.split(':')[1] >= '1.20'", ["KV344"]),
        (f"{NAME}.split('-')[1] > '5'", ["KV344"]),
        (f"string(size({NAME})) <= '10'", ["KV344"]),
        ("object.spec.limits.cpu >= object.spec.requests.cpu", ["KV344"]),
        ("object.spec.limits.replicas >= object.spec.requests.replicas", []),
        (f"object.spec.limits.cpu >= {NAME}", []),
        (f"size({NAME}) <= 10", []),
        (f"{NAME}.substring(0, 1) >= '0' && {NAME}.substring(0, 1) <= '9'", []),
        (f"string({NAME}) >= '2024-01-01'", []),
        (f"{NAME} == '2Gi'", []),
        ("quantity(object.?data[?'limit'].orValue('0')).isLessThan(quantity('2Gi'))", []),
    ],
)
def test_numbers_that_are_ordered_as_text(codes, expression, found):
    assert [one for one in codes(expression) if one == "KV344"] == found


def test_a_bound_in_a_variable_is_read(codes):
    def ordered(bound):
        variables = [{"name": "most", "expression": bound}]
        return codes(f"{NAME} <= variables.most", variables=variables)

    assert ordered("'500m'") == ["KV344"]
    assert ordered("'n'") == []


@pytest.mark.parametrize(
    ("name", "condition", "found"),
    [
        ("exclude-agents", "request.namespace in ['monitoring']", ["KV384"]),
        ("skipRobots", f"{NAME}.endsWith('-robot')", ["KV384"]),
        ("ignore_annotated", "has(object.metadata.annotations)", ["KV384"]),
        ("exempt.team", "request.userInfo.groups.exists(g, g == 'team')", ["KV384"]),
        ("not-default", "request.namespace == 'default'", ["KV384"]),
        ("not-production", "request.namespace == 'test'", []),
        ("exclude-agents", "!(request.namespace in ['monitoring'])", []),
        ("exclude-agents", "request.namespace != 'monitoring'", []),
        ("skip-disabled", "object.?data.enabled.orValue('') == 'false'", []),
        ("exclude-unmanaged", "request.namespace == 'managed'", []),
        ("ignore-without-data", "has(object.data)", []),
        ("only-agents", "request.namespace == 'agents'", []),
        ("skip-small", f"size({NAME}) > 5", []),
    ],
)
def test_conditions_that_select_what_their_names_exclude(codes, name, condition, found):
    conditions = [{"name": name, "expression": condition}]
    reported = codes(f"{NAME} != 'a'", matchConditions=conditions)
    assert [code for code in reported if code == "KV384"] == found


LABEL = "object.metadata.?labels[?'a'].orValue('')"


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        (f"{NAME} == 'team-*'", ["KV240"]),
        (f"!({NAME} in ['kube-*', 'a'])", ["KV240"]),
        ("request.namespace.startsWith('kube-*')", ["KV240"]),
        (f"{NAME} == '*'", []),
        (f"{LABEL} == 'a*'", []),
        ("has(object.metadata.labels) && 'team=a' in object.metadata.labels", ["KV240"]),
        ("has(object.metadata.labels) && 'team' in object.metadata.labels", []),
        ("request.userInfo.username != 'system:serviceaccount:ci/robot'", ["KV240"]),
        ("request.userInfo.username != 'system:serviceaccount:ci:robot'", []),
        ("request.userInfo.username.startsWith('system:serviceaccount:ci')", []),
        (f"!'kube-'.startsWith({NAME})", ["KV336"]),
        (f"!'-tmp'.contains({NAME})", ["KV336"]),
        (f"'dev,test'.contains({NAME})", []),
        ("object.metadata.labels['a'] == object.metadata.labels['a']", ["KV240"]),
        (f"{LABEL} == true", ["KV240"]),
        (f"{LABEL} != null", ["KV240"]),
        ("object.metadata.?labels[?'a'].orValue(null) != null", []),
        ("object.metadata.?labels[?'a'].orValue(false) == true", ["KV324"]),
        ("object.?immutable.orValue('false') == 'true'", ["KV324"]),
        ("object.?immutable.orValue(false) == true", []),
        ("object.?data[?'a'].orValue('0') != '1'", []),
        (rf"{LABEL}.contains('a\\.b')", ["KV309"]),
        (rf"{LABEL}.split('\\+').size() > 1", ["KV309"]),
        (rf"{LABEL} == '\\*'", ["KV309"]),
        (rf"regex.replace({LABEL}, 'a\\.b', 'c') == 'c'", []),
        (rf"{LABEL}.matches('^a\\.b$')", []),
        (f"image({NAME}).registry() == 'localhost:5000'", []),
        (f"image({NAME}).tag().startsWith('v1.')", []),
        ("resource.List('v1', 'secrets', 'a').items.size() > 0", []),
        ("time.now() - timestamp(object.metadata.creationTimestamp) > duration('1h')", []),
    ],
)
def test_constants_that_no_value_is(codes, expression, found):
    wanted = {"KV240", "KV309", "KV324", "KV336"}
    evaluation = {"background": {"enabled": False}}
    assert [one for one in codes(expression, evaluation=evaluation) if one in wanted] == found
