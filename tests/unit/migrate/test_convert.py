"""Whole policies: rules, cleanup policies, names."""

import pytest

from kyvsim.equivalence.policy_runner import effect_of
from kyvsim.migrate import convert
from kyvsim.migrate.convert import object_name
from kyvsim.model.migration import ConversionOutcome
from kyvsim.report.migrate import document_yaml

NO_DELETE = {"all": [{"key": "{{request.operation}}", "operator": "NotEquals", "value": "DELETE"}]}


def loop(**fields):
    block = {"list": "request.object.spec.containers", **fields}
    return {"validate": {"message": "m", "foreach": [block]}, "preconditions": NO_DELETE}


def container(name, **fields):
    return {"name": name, "image": "i:1", **fields}


def test_loops(denials, pod):
    condition = {"key": "{{ element.image }}", "operator": "Equals", "value": "bad/*"}
    skipped = {"key": "{{ element.name }}", "operator": "NotEquals", "value": "proxy"}
    rule = loop(preconditions={"all": [skipped]}, deny={"conditions": {"all": [condition]}})
    pods = [
        pod("good", containers=[container("a")]),
        pod("bad", containers=[container("a"), container("b", image="bad/x")]),
        pod("proxy", containers=[container("proxy", image="bad/x")]),
    ]
    assert denials(rule, pods) == ["bad"]


def test_an_element_without_what_a_precondition_reads_is_passed_over(denials, pod):
    command = {"key": "{{ length(element.command) }}", "operator": "GreaterThan", "value": 1}
    image = {"key": "{{ element.image }}", "operator": "Equals", "value": "i:1"}
    rule = loop(preconditions={"all": [command]}, deny={"conditions": {"all": [image]}})
    pods = [
        pod("without", containers=[container("a")]),
        pod("short", containers=[container("a", command=["x"])]),
        pod("long", containers=[container("a", command=["x", "y"])]),
    ]
    assert denials(rule, pods) == ["long"]


def test_patterns_of_loops(denials, pod):
    rule = loop(pattern={"=(securityContext)": {"=(privileged)": False}})
    pods = [
        pod("open", containers=[container("a", securityContext={"privileged": True})]),
        pod("shut", containers=[container("a", securityContext={"privileged": False})]),
    ]
    assert denials(rule, pods) == ["open"]


def test_context_variables_become_variables(converted):
    condition = {"key": "{{ names }}", "operator": "AnyIn", "value": ["a"]}
    rule = {
        "context": [
            {"name": "names", "variable": {"jmesPath": "request.object.spec.containers[].name"}}
        ],
        "preconditions": NO_DELETE,
        "validate": {"message": "m", "deny": {"conditions": {"all": [condition]}}},
    }
    _, (made,) = converted(rule)
    assert made["spec"]["variables"] == [
        {"name": "names", "expression": "object.spec.containers.map(container, container.name)"}
    ]


def test_look_ups_are_conditions(converted):
    value = "{{ allowed.data.images }}"
    condition = {
        "key": "{{ request.object.spec.nodeName }}",
        "operator": "NotEquals",
        "value": value,
    }
    rule = {
        "context": [{"name": "allowed", "configMap": {"name": "allowed", "namespace": "ns"}}],
        "preconditions": NO_DELETE,
        "validate": {"message": "m", "deny": {"conditions": {"all": [condition]}}},
    }
    told, (made,) = converted(rule)
    assert told.outcome is ConversionOutcome.CONDITIONAL
    assert "cluster lookup" in [one.name for one in told.conditions]
    assert made["spec"]["variables"][0]["expression"] == (
        "dyn(resource.Get('v1', 'configmaps', 'ns', 'allowed'))"
    )


def labelled(**match):
    return {
        "match": {"any": [{"resources": {"kinds": ["ConfigMap"], **match}}]},
        "validate": {"message": "m", "pattern": {"metadata": {"labels": {"team": "?*"}}}},
    }


@pytest.mark.parametrize(
    ("match", "condition"),
    [
        ({"names": ["a-*"]}, "object.metadata.?name.orValue('').startsWith('a-')"),
        ({"namespaces": ["one", "two"]}, "request.?namespace.orValue('') in ['one', 'two']"),
        (
            {"annotations": {"kept": "yes"}},
            "object.metadata.?annotations[?'kept'].orValue('') == 'yes'",
        ),
    ],
    ids=str,
)
def test_filters_become_conditions(match, condition, converted):
    _, (made,) = converted(labelled(**match))
    assert [one["expression"] for one in made["spec"]["matchConditions"]] == [condition]


def test_what_filters_leave_alone(denials, thing):
    found = [thing("ConfigMap", name) for name in ("a-1", "b-1")]
    assert denials(labelled(names=["a-*"]), found) == ["a-1"]


def test_labels_are_those_of_the_new_object(converted):
    _, (made,) = converted(labelled(selector={"matchLabels": {"app": "web"}}))
    assert "objectSelector" not in made["spec"]["matchConstraints"]
    (condition,) = made["spec"]["matchConditions"]
    assert condition["expression"] == "object.metadata.?labels[?'app'].orValue('') == 'web'"


def test_custom_resources_are_asked_by_their_kind(converted):
    rule = labelled()
    rule["match"] = {"any": [{"resources": {"kinds": ["Widget"]}}]}
    told, (made,) = converted(rule)
    (resources,) = made["spec"]["matchConstraints"]["resourceRules"]
    assert (resources["apiGroups"], resources["resources"]) == (["*"], ["widgets"])
    (condition,) = made["spec"]["matchConditions"]
    assert condition == {"name": "kind", "expression": "request.kind.kind == 'Widget'"}
    assert "guessed resource names" in [one.name for one in told.conditions]


def test_what_is_made_of_nothing_is_in_no_list(denials, pod):
    values = "{{ request.object.spec.volumes[].name }}"
    condition = {"key": "a", "operator": "AnyNotIn", "value": values}
    rule = {
        "preconditions": NO_DELETE,
        "validate": {"message": "m", "deny": {"conditions": {"all": [condition]}}},
    }
    pods = [pod("none", containers=[]), pod("other", containers=[], volumes=[{"name": "b"}])]
    assert denials(rule, pods) == ["other"]


def test_settings(converted):
    told, (made,) = converted(
        labelled(), background=False, validationFailureAction="Enforce", failurePolicy="Ignore"
    )
    spec = made["spec"]
    assert spec["validationActions"] == ["Deny"]
    assert spec["evaluation"] == {"background": {"enabled": False}}
    assert spec["failurePolicy"] == "Ignore"
    assert [one.name for one in told.conditions] == ["existing violations"]


def test_controllers_that_the_annotation_names(converted):
    annotation = {"pod-policies.kyverno.io/autogen-controllers": "Deployment,CronJob"}
    rule = {"validate": {"message": "m", "pattern": {"spec": {"hostNetwork": False}}}}
    _, (made,) = converted(rule, annotations=annotation)
    controllers = made["spec"]["autogen"]["podControllers"]["controllers"]
    assert controllers == ["cronjobs", "deployments"]
    assert "annotations" not in made["metadata"]


def test_a_message_with_variables_is_an_expression(converted):
    rule = labelled()
    rule["validate"]["message"] = "{{ request.object.metadata.name }} needs a team"
    _, (made,) = converted(rule)
    (validation,) = made["spec"]["validations"]
    assert validation["messageExpression"] == "object.metadata.name + ' needs a team'"


def test_a_message_that_names_an_element_keeps_its_name(converted):
    rule = loop(deny={"conditions": {"all": [{"key": "{{ element.name }}", "operator": "Equals"}]}})
    rule["validate"]["foreach"][0]["deny"]["conditions"]["all"][0]["value"] = "a"
    rule["validate"]["message"] = "not {{ element.name }}"
    told, (made,) = converted(rule)
    assert made["spec"]["validations"][0]["message"] == "not <element.name>"
    assert "message" in [one.name for one in told.conditions]


def test_cel_stays_as_it_is(converted):
    expressions = [{"expression": "object.spec.hostNetwork == false", "message": "no"}]
    variables = [{"name": "x", "expression": "object.spec.containers"}]
    _, (made,) = converted(
        {"validate": {"cel": {"expressions": expressions, "variables": variables}}}
    )
    assert made["spec"]["validations"] == expressions
    assert made["spec"]["variables"] == variables


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ({"mutate": {"patchesJson6902": "{{ x }}"}}, ".mutate.patchesJson6902"),
        (
            {
                "exclude": {
                    "any": [
                        {
                            "resources": {
                                "kinds": ["Namespace"],
                                "namespaceSelector": {"matchLabels": {}},
                            }
                        }
                    ]
                }
            },
            ".exclude.any[0].resources.namespaceSelector",
        ),
        (
            {"validate": {"manifests": {"attestors": [{"entries": [{"keys": {"kms": "k"}}]}]}}},
            ".validate.manifests",
        ),
    ],
    ids=str,
)
def test_nothing_is_dropped_without_a_word(rule, path, converted):
    body = rule if "mutate" in rule else {**labelled(), **rule}
    told, made = converted(body, background=False)
    assert told.outcome is ConversionOutcome.REFUSED
    assert told.path == f"spec.rules[0]{path}"
    assert told.advice
    assert made == []


def test_no_variable_holds_an_optional(converted):
    condition = {"key": "{{ team || 'none' }}", "operator": "Equals", "value": "none"}
    rule = {
        "context": [
            {"name": "team", "variable": {"jmesPath": "request.object.metadata.labels.team"}}
        ],
        "preconditions": NO_DELETE,
        "validate": {
            "message": "m",
            "deny": {"conditions": {"all": [condition]}},
        },
    }
    _, (made,) = converted(rule)
    texts = [one["expression"] for one in made["spec"]["variables"]]
    assert not [text for text in texts if "optional.of(" in text or text.endswith(".?team")]
    assert texts == ["object.metadata.?labels.?team.orValue(null)"]


def test_a_namespace_selector_takes_nothing_that_is_in_no_namespace(converted):
    selector = {"matchLabels": {"frozen": "yes"}}
    body = labelled()
    body["match"] = {"any": [{"resources": {"kinds": ["*"], "namespaceSelector": selector}}]}
    _, (made,) = converted(body, background=False)
    assert "namespaceSelector" not in made["spec"]["matchConstraints"]
    tests = " ".join(one["expression"] for one in made["spec"]["matchConditions"])
    assert "request.kind.kind != 'Namespace'" in tests
    assert "request.?namespace.orValue('') != ''" in tests
    body["match"] = {"any": [{"resources": {"kinds": ["Pod"], "namespaceSelector": selector}}]}
    _, (made,) = converted(body, background=False)
    assert made["spec"]["matchConstraints"]["namespaceSelector"] == selector


def _condition(value):
    return {"all": [{"key": "{{request.operation}}", "operator": "Equals", "value": value}]}


NAMED = {"metadata": {"name": "?*"}}
ODD_RULES = [
    {"validate": {"message": "m", "pattern": [None]}},
    {"validate": {"message": "m", "pattern": ["x"]}},
    {"validate": {"message": "m", "anyPattern": ["x", 1.5]}},
    *(
        {"validate": {"message": "m", "pattern": NAMED}, "preconditions": _condition(value)}
        for value in (5, 1.5, True, {"a": "b"}, [{}], ["CREATE", 5])
    ),
    *(
        {
            "validate": {"message": "m", "pattern": NAMED},
            "context": [{"name": "a", "apiCall": {"urlPath": path}}],
        }
        for path in (None, "", "/", "/api", "/api/v1", "/apis")
    ),
    *(
        {block: {"foreach": [{**found, **body}]}}
        for found in ({}, {"list": None}, {"list": ""})
        for block, body in (
            ("validate", {"pattern": NAMED}),
            ("mutate", {"patchStrategicMerge": NAMED}),
            ("mutate", {"patchesJson6902": "[]"}),
            ("generate", {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "data": {}}),
        )
    ),
]


@pytest.mark.parametrize("rule", ODD_RULES, ids=str)
def test_odd_values_are_converted_or_refused_in_words(converted, rule):
    assert "internal error" not in str(converted(rule))


@pytest.mark.parametrize(
    ("query", "operations"),
    [
        ("request.object.metadata.name", ["CREATE", "UPDATE"]),
        ("'{{ request.object.metadata.name }}'", ["CREATE", "UPDATE", "DELETE"]),
        ("request.oldObject.metadata.name || ''", ["CREATE", "UPDATE", "DELETE"]),
    ],
)
def test_a_context_entry_that_reads_the_object_finds_nothing_deleted(query, operations, converted):
    condition = {"key": "{{ name }}", "operator": "Equals", "value": "a*"}
    rule = {
        "context": [{"name": "name", "variable": {"jmesPath": query}}],
        "validate": {"message": "m", "deny": {"conditions": {"all": [condition]}}},
    }
    told, (made,) = converted(rule)
    (found,) = made["spec"]["matchConstraints"]["resourceRules"]
    assert found["operations"] == operations
    named = {one.name for one in told.conditions}
    assert ("deletions" in named) is ("DELETE" not in operations)


def test_a_default_behind_a_truth_value_is_refused(converted):
    key = "{{ request.object.spec.hostNetwork || `true` }}"
    condition = {"key": key, "operator": "Equals", "value": True}
    rule = {"validate": {"message": "m", "deny": {"conditions": {"all": [condition]}}}}
    told, _ = converted(rule)
    assert told.outcome is ConversionOutcome.REFUSED
    assert "which also replaces `false`" in told.reason


# Cleanup policies become policies that delete the same objects.

PODS = {"any": [{"resources": {"kinds": ["Pod"]}}]}


def cleanup(namespace="", **spec):
    metadata = {"name": "old", **({"namespace": namespace} if namespace else {})}
    return {
        "apiVersion": "kyverno.io/v2",
        "kind": "CleanupPolicy" if namespace else "ClusterCleanupPolicy",
        "metadata": metadata,
        "spec": {"schedule": "0 * * * *", "match": PODS, **spec},
    }


def pods(*some):
    return {"any": [{"resources": {"kinds": ["Pod"], **one}} for one in some]}


def condition(key, operator, value):
    return {"conditions": {"all": [{"key": key, "operator": operator, "value": value}]}}


@pytest.fixture
def goes(read_policy, run, pod):
    """Return what tells whether a policy deletes a Pod, and so does what becomes of it."""

    def deletes(policy, *, created="2026-01-01T00:00:00Z"):
        old = read_policy(policy)
        conversion = convert(old, document_yaml)
        assert conversion.is_whole, conversion.rules[0].reason
        new = read_policy(dict(conversion.made[0].data))
        obj = pod("web", labels={"app": "shop"}, restartPolicy="Never")
        obj["metadata"]["creationTimestamp"] = created
        effects = [effect_of(run([side], obj)) for side in (old, new)]
        assert effects[0].deleted is effects[1].deleted
        assert effects[0].later == effects[1].later
        return effects[0].deleted

    return deletes


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, True),
        ({"match": pods({"names": ["w*"]})}, True),
        ({"match": pods({"namespaces": ["bank"]})}, False),
        ({"match": pods({"namespaces": ["bank"]}, {"names": ["web"]})}, True),
        ({"match": pods({"selector": {"matchLabels": {"app": "shop"}}})}, True),
        ({"match": pods({"selector": {"matchLabels": {"app": "s*"}}})}, True),
        ({"match": pods({"selector": {"matchLabels": {"app": "bank"}}})}, False),
        ({"match": pods({"operations": ["UPDATE"]})}, True),
        ({"exclude": pods({"names": ["web"]})}, False),
        (condition("{{ target.spec.restartPolicy }}", "Equals", "Never"), True),
        (condition("{{ target.spec.none }}", "Equals", "Never"), False),
        (condition("{{ request.namespace }}", "Equals", "shop"), True),
        ({"deletionPropagationPolicy": "Orphan"}, True),
    ],
    ids=str,
)
def test_what_goes(spec, expected, goes):
    assert goes(cleanup(**spec)) is expected


@pytest.mark.parametrize(("namespace", "expected"), [("shop", True), ("bank", False)])
def test_policies_of_a_namespace_look_there(namespace, expected, goes):
    assert goes(cleanup(namespace)) is expected


@pytest.mark.parametrize(
    ("key", "operator", "value", "expected"),
    [
        ("time_since('', '{{ target.metadata.creationTimestamp }}', '')", ">", "24h", True),
        ("time_since('', target.metadata.creationTimestamp, '')", ">", "48h", False),
        ("time_diff(target.metadata.creationTimestamp, time_now_utc())", "<", "48h", True),
        ("time_before(target.metadata.creationTimestamp, '2026-01-01T00:00:01Z')", "", True, True),
        ("time_after(time_add(target.metadata.creationTimestamp, '48h'), time_now())", "", True,
         True),
    ],
    ids=str,
)  # fmt: skip
def test_times(key, operator, value, expected, goes):
    operators = {">": "GreaterThan", "<": "LessThan", "": "Equals"}
    asked = condition(f"{{{{ {key} }}}}", operators[operator], value)
    assert goes(cleanup(**asked)) is expected


def test_what_only_a_request_tells_has_no_twin(read_policy):
    asked = cleanup(**condition("{{ request.userInfo.username }}", "Equals", "x"))
    (rule,) = convert(read_policy(asked), document_yaml).rules
    assert rule.outcome is ConversionOutcome.REFUSED
    assert rule.path == "spec.conditions.all[0]"


@pytest.mark.parametrize("name", ["a", "a-b.c", "a" * 63])
def test_names_that_fit_stay(name):
    assert object_name(name) == name


@pytest.mark.parametrize(
    ("name", "start"),
    [
        ("a_b", "a-b-"),
        ("Team Label", "team-label-"),
        ("a..b", "a--b-"),
        ("-a-", "a-"),
        ("a" * 64, "a" * 56 + "-"),
        ("\u00e4", ""),
    ],
)
def test_others_are_made_to_fit(name, start):
    found = object_name(name)
    assert found.startswith(start)
    assert len(found) <= 63
    assert object_name(found) == found


def test_what_is_cut_off_tells_names_apart():
    assert object_name("a" * 64) != object_name("a" * 65)
    assert object_name("a_b") != object_name("a b")
