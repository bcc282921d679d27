import pytest

DEPLOYMENTS = {"apiGroups": ["apps"], "resources": ["deployments"]}
CONFIG_MAPS = {"apiGroups": [""], "resources": ["configmaps"]}
JOBS = {"apiGroups": ["batch"], "resources": ["cronjobs"]}


@pytest.fixture
def codes(written):
    """A function that returns the codes of a validation for Deployments, without KV323."""

    def check(text, rules=(DEPLOYMENTS,), **more):
        rules = [{"apiVersions": ["v1"], "operations": ["UPDATE"], **one} for one in rules]
        spec = {
            "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": text}],
            **more,
        }
        found = written("ValidatingPolicy", spec)
        return [code for code, _ in found if code not in {"KV242", "KV252", "KV257", "KV323"}]

    return check


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("object.spec.replicas.size() > 0", ["KV350"]),
        ("object.spec.replicas == 'a'", ["KV324"]),
        ("object.spec.replicas in ['1', '2']", ["KV324"]),
        ("variables.count == 'a'", ["KV324"]),
        ("object.spec.template.spec.containers.all(c, c.image > 1)", ["KV324"]),
        ("object.spec.template.spec.containers.all(c, c.image.a == 'x')", ["KV350"]),
        ("object.spec.strategy.type == 'Rolling'", ["KV349"]),
        ("object.spec.strategy.type in ['Recreate', 'RollingUpdate']", []),
        ("object.kind == 'Pod'", ["KV349"]),
        ("object.spec.template.spec.containers['web'].image == 'a'", ["KV350"]),
        ("object.spec.replicas * 2 < 10", []),
        ("object.spec.replicas * 1.5 < 10.0", []),
        ("object.spec.replicas != null", []),
        ("object['spec'].replicas == 1", []),
        ("!('web' in object.spec.template.spec.containers)", ["KV325"]),
        ("!('NET_RAW' in object.spec.template.spec.containers[0].securityContext)", ["KV325"]),
        ("'add' in object.spec.template.spec.containers[0].securityContext.capabilities", []),
        ("object.metadata.name in object.spec.template.spec.containers", []),
        ("object.metadata.name in object.spec.template.spec.containers.map(c, c.name)", []),
        ("'app' in object.spec.selector.matchLabels", []),
        ("object.spec.?template.?spec.?hostNetwork.orValue(false) == false", []),
        ("has(object.spec.somethingOfTomorrow)", []),
        ("(object.spec.template.spec.containers + [{'name': 'a'}]).size() > 0", []),
        ("dyn(object.spec.replicas) == 'a'", []),
        ("object.spec.?replicas.orValue(1) >= '2'", ["KV324"]),
        ("'2' <= object.?spec.?replicas.orValue(1)", ["KV324"]),
        ("object.metadata.?labels[?'a'].orValue('') == 3", ["KV324"]),
        ("object.spec.template.spec.?containers.orValue([]).all(c, c.image > 1)", ["KV324"]),
        (
            (
                "[object.spec.template.spec].all(s, (s.containers + s.?initContainers.orValue([])"
                " + s.?ephemeralContainers.orValue([])).all(c, c.image > 1))"
            ),
            ["KV324"],
        ),
        ("object.spec.?replicas.orValue(1) >= 2", []),
        ("object.spec.?replicas.orValue(1.5) >= 2", []),
        ("object.spec.?replicas.orValue(1) + 1 >= 2", []),
        ("object.?spec.?somethingOfTomorrow.orValue(1) >= '2'", []),
        ("object.metadata.?labels.orValue({}).?a.orValue('') == '3'", []),
        ("object.spec.?replicas.orValue(variables.any) != '2'", []),
    ],
)
def test_operations_by_the_types_of_the_kind(codes, text, found):
    count = {"name": "count", "expression": "object.spec.replicas"}
    other = {"name": "any", "expression": "object.spec['tomorrow']"}
    variables = [count, other] if "variables" in text else []
    assert codes(text, variables=variables) == found


def test_only_what_is_wrong_for_all_kinds(codes):
    text = "object.spec.schedule.size() > 0"
    assert codes(text, [JOBS]) == []
    assert codes("object.spec.suspend.size() > 0", [JOBS]) == ["KV350"]
    assert codes("object.spec.suspend.size() > 0", [JOBS, DEPLOYMENTS]) == []


@pytest.mark.parametrize(
    ("expression", "reported"),
    [
        ("has(object.spec.hostPID)", True),
        ("object.spec.containers.all(c, has(c.stdin))", True),
        ("!has(object.spec.hostPID)", False),
        ("has(object.spec.hostPID) && !object.spec.hostPID", False),
        ("has(object.spec.nodeName)", False),
    ],
)
def test_booleans_that_are_only_set(written, expression, reported):
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"]}
    spec = {
        "autogen": {"podControllers": {"controllers": []}},
        "matchConstraints": {"resourceRules": [{**rule, "resources": ["pods"]}]},
        "validations": [{"expression": expression, "message": "m"}],
    }
    found = [code for code, _ in written("ValidatingPolicy", spec) if code == "KV394"]
    assert found == ["KV394"] * reported


def test_where_a_constant_can_be_searched_instead(written):
    text = "object.spec.template.spec.containers.all(c, !('ALL' in c.securityContext.capabilities))"
    rule = {**DEPLOYMENTS, "apiVersions": ["v1"], "operations": ["CREATE"]}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": text}]}
    (message,) = (text for code, text in written("ValidatingPolicy", spec) if code == "KV325")
    assert message.endswith("it has none of the name `ALL`: search in `add`, `drop` of it")


def test_the_time_that_a_text_is(written):
    rule = {**DEPLOYMENTS, "apiVersions": ["v1"], "operations": ["CREATE"]}
    conditions = [
        {
            "name": "old",
            "expression": "time.now() - object.metadata.creationTimestamp > duration('1h')",
        }
    ]
    spec = {
        "schedule": "0 1 * * *",
        "matchConstraints": {"resourceRules": [rule]},
        "conditions": conditions,
    }
    (message,) = (text for code, text in written("DeletingPolicy", spec) if code == "KV350")
    assert message.endswith("a string: write `timestamp(object.metadata.creationTimestamp)`")


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("object.metadata.name + object.metadata.generation == 'a1'", "write `string(object.m"),
        ("object.spec.allocateLoadBalancerNodePorts + 'a' == 'truea'", "write `string(object.s"),
        ("object.metadata.name - object.metadata.generation == 'a'", ""),
    ],
)
def test_texts_that_are_joined_with_other_values(written, text, advice):
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["services"],
    }
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": text, "message": "m"}],
    }
    (found,) = (message for code, message in written("ValidatingPolicy", spec) if code == "KV350")
    assert advice in found
    assert ("write `string" in found) is bool(advice)


def test_the_payload_of_another_mode_has_no_kind(codes):
    answer = "object.attributes.path == '/' ? http.Denied('x').Response() : null"
    assert codes(answer, evaluation={"mode": "HTTP"}) == []
    assert codes(answer) == ["KV150"]
