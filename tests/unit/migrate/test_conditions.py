"""Conditions become expressions that deny the same objects, and that people would write."""

import pytest

from kyvsim.migrate.conditions import OPERATORS


def deny(*conditions, quantifier="all", **more):
    return {
        "validate": {"message": "m", "deny": {"conditions": {quantifier: list(conditions)}}},
        "preconditions": {
            "all": [{"key": "{{request.operation}}", "operator": "NotEquals", "value": "DELETE"}]
        },
        **more,
    }


def condition(key, operator, value):
    return {"key": f"{{{{ request.object.{key} }}}}", "operator": operator, "value": value}


EXPRESSIONS = [
    (condition("spec.hostNetwork", "Equals", True), "object.spec.hostNetwork != true"),
    (
        condition("spec.hostNetwork || `false`", "Equals", True),
        "object.spec.?hostNetwork.orValue(false) != true",
    ),
    (
        condition("spec.dnsPolicy || ''", "AnyIn", ["None", "Default"]),
        "!(object.spec.?dnsPolicy.orValue('') in ['None', 'Default'])",
    ),
    (
        condition("spec.containers[].image", "AnyIn", ["bad/*"]),
        (
            "!object.spec.containers.map(container, container.image).exists(item,\n"
            "  item.startsWith('bad/')\n)"
        ),
    ),
    (condition("spec.volumes[] | length(@)", "GreaterThan", 3), "size(object.spec.volumes) <= 3"),
    (
        condition("spec.containers[?name == 'a'].image", "AnyNotIn", ["x:1"]),
        (
            "object.spec.containers.filter(container, container.name == 'a')"
            ".map(container, container.image).all(item,\n  item == 'x:1'\n)"
        ),
    ),
    (
        {"key": "{{ contains(request.object.spec.nodeName, 'gpu') }}", "operator": "Equals"}
        | {"value": True},
        "!object.spec.nodeName.contains('gpu')",
    ),
]
WILD_LISTS = [
    (
        {"key": "nodes/proxy", "operator": "AnyIn"},
        "{{ request.object.rules[].resources[] || `[]` }}",
        "'nodes/proxy'.matches(",
    ),
    (
        {"key": "{{ request.object.rules[].verbs[] || `[]` }}", "operator": "AnyIn"},
        ["get", "list"],
        "['get', 'list'].exists(text,",
    ),
]


@pytest.mark.parametrize(("one", "wanted"), EXPRESSIONS, ids=str)
def test_expressions(one, wanted, expression):
    assert expression(deny(one)) == wanted


@pytest.mark.parametrize(("one", "value", "wanted"), WILD_LISTS, ids=str)
def test_wildcards_that_lists_of_an_object_hold_are_patterns(one, value, wanted, expression):
    match = {"any": [{"resources": {"kinds": ["ClusterRole"]}}]}
    found = expression(deny({**one, "value": value}, match=match))
    assert wanted in found
    assert ".replace('*', '\\\\E.*\\\\Q')" in found


NUMBERS = ("GreaterThan", "GreaterThanOrEquals", "LessThan", "LessThanOrEquals")
LONGER = tuple(f"Duration{one}" for one in NUMBERS)


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("quantifier", ["any", "all"])
def test_every_operator(operator, quantifier, denials, pod):
    field, value = "nodeName", ["a", "b*"]
    values = ["a", "bc", "c"]
    if operator in NUMBERS:
        field, value, values = "priority", 5, [4, 5, 6]
    elif operator in LONGER:
        field, value, values = "nodeName", "1h", ["30m", "1h", "2h"]
    elif operator.endswith(("Equal", "Equals")):
        value = "b*"
    pods = [pod(f"p{n}", containers=[], **{field: one}) for n, one in enumerate(values)]
    found = denials(deny(condition(f"spec.{field}", operator, value), quantifier=quantifier), pods)
    assert 0 < len(found) < len(pods)


AMOUNT_TEXTS = [
    "1h",
    "90m",
    "5400",
    "5401",
    "1h30m",
    "1h30",
    "a",
    "0",
    "10",
    "600.5",
    "500m",
    "5m",
    "10m",
    "11m",
    "1.2.3",
    "1.2.4",
    "1.10.0",
    "1.2",
    "2Gi",
    "1Gi",
    "1073741824",
    "-1h",
]


@pytest.mark.parametrize("operator", NUMBERS)
@pytest.mark.parametrize("value", [3600, "3600", "1h30m", "10m", "1Gi", "1.2.3", "2", 0, "a"])
def test_texts_are_compared_as_what_they_write(operator, value, denials):
    objects = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{n}"}, "data": {"a": one}}
        for n, one in enumerate(["", *AMOUNT_TEXTS])
    ]
    match = {"any": [{"resources": {"kinds": ["ConfigMap"]}}]}
    denials(deny(condition("data.a", operator, value), match=match), objects)


@pytest.mark.parametrize("operator", NUMBERS)
@pytest.mark.parametrize("value", ["1m", "60s", "90s", "1.5s", "1Gi", "60", 60])
def test_a_number_is_compared_with_a_duration_in_seconds(operator, value, denials, pod):
    pods = [pod(f"p{n}", containers=[], priority=n) for n in (0, 1, 2, 59, 60, 61, 90)]
    denials(deny(condition("spec.priority", operator, value)), pods)


def test_a_number_is_no_bound_of_a_quantity(converted):
    one = condition("spec.containers[0].resources.limits.cpu", "GreaterThan", 2)
    told, _ = converted(deny(one))
    assert "reads `100m` as minutes" in told.reason
    assert told.advice == 'write it as a string: "2"'


@pytest.mark.parametrize("operator", ["AnyIn", "AllIn", "AnyNotIn", "AllNotIn"])
def test_lists(operator, denials, pod):
    def containers(*names):
        return [{"name": name, "image": f"{name}:1"} for name in names]

    pods = [
        pod("none", containers=containers("x")),
        pod("some", containers=containers("a", "x")),
        pod("all", containers=containers("a", "b")),
    ]
    found = denials(deny(condition("spec.containers[].name", operator, ["a", "b"])), pods)
    assert 0 < len(found) < len(pods)


def test_a_missing_key_denies_as_before(denials, pod):
    pods = [pod("without", containers=[]), pod("with", containers=[], nodeName="n")]
    assert denials(deny(condition("spec.nodeName", "Equals", "x")), pods) == ["without"]


def test_what_stands_for_an_empty_list(denials, pod):
    pods = [
        pod("none", containers=[]),
        pod("good", containers=[], imagePullSecrets=[{"name": "a"}]),
    ]
    one = condition("spec.imagePullSecrets[].name || ''", "AnyNotIn", ["a"])
    assert denials(deny(one), pods) == ["none"]


def test_preconditions_on_the_operation_become_operations(converted):
    _, (made,) = converted(deny(condition("spec.nodeName || ''", "Equals", "x")))
    (rule,) = made["spec"]["matchConstraints"]["resourceRules"]
    assert rule["operations"] == ["CREATE", "UPDATE"]
    assert "matchConditions" not in made["spec"]


def test_loops_over_the_object_see_no_deletions(converted):
    """The list is a query and no text, so that `request.object` is not the deleted one there."""
    denial = {
        "conditions": {"any": [{"key": "{{ element.name }}", "operator": "Equals", "value": "x"}]}
    }
    operations = {}
    for listed in ("request.object.spec.containers", "request.oldObject.spec.containers"):
        loop = {"list": listed, "deny": denial}
        _, made = converted({"validate": {"message": "m", "foreach": [loop]}})
        for one in made:
            (rule,) = one["spec"]["matchConstraints"]["resourceRules"]
            operations[listed] = rule["operations"]
    assert operations["request.object.spec.containers"] == ["CREATE", "UPDATE"]
    assert operations.get("request.oldObject.spec.containers", ["DELETE"])[-1] == "DELETE"


def test_deleted_objects_are_asked_as_before(converted):
    rule = deny(condition("spec.nodeName || ''", "Equals", "x"), preconditions=None)
    _, (made,) = converted({key: one for key, one in rule.items() if one})
    (spec,) = made["spec"]["variables"]
    assert spec == {
        "name": "spec",
        "expression": "request.operation == 'DELETE' ? oldObject.spec : object.spec",
    }
    assert made["spec"]["validations"][0]["expression"] == (
        "variables.spec.?nodeName.orValue('') != 'x'"
    )


@pytest.mark.parametrize(
    "rule",
    [
        {"validate": {"message": "no", "deny": {"conditions": {"any": []}}}},
        {"preconditions": {"any": []}, "validate": {"message": "no", "deny": {}}},
    ],
    ids=["deny", "preconditions"],
)
def test_an_empty_list_of_alternatives_never_holds(rule, denials, pod):
    assert denials(rule, [pod("web")]) == []


def test_a_function_without_a_twin_is_told_with_its_place(converted):
    one = {"key": "{{ path_canonicalize(request.object.spec.nodeName) }}", "operator": "Equals"}
    told, made = converted(deny(one | {"value": "x"}))
    assert told.reason == "the function `path_canonicalize` cannot be converted to CEL"
    assert told.path == "spec.rules[0].validate.deny.conditions.all[0]"
    assert made == []


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("sort()", "function `sort` takes 1 argument, not 0: the result of the rule is an error"),
        (
            "contains('a')",
            "function `contains` takes 2 arguments, not 1: the result of the rule is an error",
        ),
        (
            "time_add('1h')",
            "function `time_add` takes 2 arguments, not 1: the result of the rule is an error",
        ),
    ],
)
def test_a_call_without_its_arguments_is_no_internal_error(converted, call, reason):
    one = {"key": f"{{{{ {call} }}}}", "operator": "Equals", "value": "x"}
    told, made = converted(deny(one))
    assert (told.reason, made) == (reason, [])


MISSING = {"key": "{{ request.object.spec.nodeName }}", "operator": "Equals", "value": "a"}
FALSE = {"key": "a", "operator": "Equals", "value": "{{ request.object.metadata.name }}"}


@pytest.mark.parametrize("order", [(MISSING, FALSE), (FALSE, MISSING)])
def test_an_error_counts_where_it_comes_first(order, denials, pod):
    pods = [pod("x"), pod("y", nodeName="a"), pod("a", nodeName="a"), pod("a")]
    denied = denials(
        {"validate": {"message": "m", "deny": {"conditions": {"all": [*order]}}}}, pods
    )
    assert ("x" in denied) is (order[0] is MISSING)


def test_what_is_no_duration_is_not_longer_than_one(denials, pod):
    key = "{{ request.object.metadata.annotations.life || '1h' }}"
    one = {"key": key, "operator": "GreaterThan", "value": "8h"}
    pods = [
        {**pod(name), "metadata": {"name": name, "annotations": {"life": life}}}
        for name, life in (("short", "1h"), ("long", "9h"), ("odd", "soon"), ("empty", ""))
    ]
    assert denials(deny(one), pods) == ["long"]


def test_a_place_behind_the_end_of_a_list_is_null(denials, pod):
    key = "{{ request.object.metadata.name | split(@, '-') | [1] }}"
    one = {"key": key, "operator": "NotEquals", "value": "b"}
    assert denials(deny(one), [pod("a-b"), pod("a-c"), pod("a")]) == ["a-c"]


def test_a_text_of_what_is_missing_is_null(denials, pod):
    one = condition("spec.volumes[].name | contains(to_string(@), 'tmp')", "Equals", True)
    names = ("some", "tmp-a")
    pods = [pod("none", containers=[])]
    pods += [pod(f"p-{name}", containers=[], volumes=[{"name": name}]) for name in names]
    assert denials(deny(one), pods) == ["p-tmp-a"]


AMOUNTS = "amounts read at run time"
WILDCARDS = "texts read at run time"
LIMITS = {"name": "limits", "configMap": {"name": "limits", "namespace": "ops"}}
HOSTS = {
    "name": "hosts",
    "apiCall": {"urlPath": "/api/v1/services", "jmesPath": "items[].spec.externalName"},
}


@pytest.mark.parametrize(
    ("one", "entry", "name"),
    [
        (condition("spec.priority", "GreaterThan", "{{ limits.data.most }}"), LIMITS, AMOUNTS),
        (condition("spec.hostname", "AnyIn", "{{ hosts }}"), HOSTS, WILDCARDS),
        (condition("spec.hostname", "AnyIn", ["a"]), HOSTS, None),
        (condition("spec.priority", "GreaterThan", 1), LIMITS, None),
    ],
)
def test_what_must_hold_of_two_sides_that_are_read_is_told(one, entry, name, converted):
    told, _ = converted(deny(one, context=[entry]))
    names = {one.name for one in told.conditions} & {AMOUNTS, WILDCARDS}
    assert names == {name} - {None}


PATHS = {
    "name": "paths",
    "apiCall": {
        "urlPath": "/apis/networking.k8s.io/v1/ingresses",
        "jmesPath": "items[].spec.rules[].http.paths[].path",
    },
}


def test_wildcards_count_in_a_text_that_is_composed_and_in_a_list_that_is_read(converted):
    key = "/{{ request.object.metadata.annotations.path }}"
    one = {"key": key, "operator": "AnyIn", "value": "{{ paths }}"}
    told, (made,) = converted(deny(one, context=[PATHS]))
    assert WILDCARDS not in {one.name for one in told.conditions}
    test = made["spec"]["validations"][0]["expression"]
    assert "variables.paths.exists(pattern" in test
    assert "pattern.replace('*'" in test
    assert test.count("pattern.matches(") == 1


def test_a_list_in_the_value_of_a_membership_test_is_compared_by_its_text(converted):
    told, _ = converted(deny(condition("spec.volumes[].name || ''", "AnyNotIn", ["a", ["b"], ""])))
    assert told.reason == ""


def read_as(query, default, operator="Equals", value=""):
    """Return a rule that denies by a context entry with a default, unless that is None."""
    variable = {"jmesPath": query} | ({} if default is None else {"default": default})
    entry = {"name": "found", "variable": variable}
    return deny({"key": "{{ found }}", "operator": operator, "value": value}, context=[entry])


def of_object(query):
    return f"request.object.{query}"


PARTS = "metadata.annotations.parts"
OPTIONAL_READS = [
    # What is made of a list that is missing is null: a default, or a condition, decides.
    read_as(of_object("spec.volumes[?secret].name | [0] || ''"), None),
    read_as(of_object("spec.volumes[].name | [-1] || 'none'"), None, value="none"),
    read_as(of_object("spec.volumes[].name || ['none']"), None, "AnyIn", ["none"]),
    deny(condition("spec.volumes[].name | [0]", "NotEquals", "a")),
    # `x.f(@)` is nothing where there is no `x`; `f(x)` ends in an error.
    deny(condition(f"{PARTS}.split(@, '/') | [1] || 'b'", "Equals", "b")),
    deny(condition(f"{PARTS}.length(@) || `7`", "Equals", 7)),
    deny(condition(f"{PARTS} | length(@) || `7`", "Equals", 7)),
    # A default of an entry stands for every failure of its query.
    read_as(f"length(request.object.{PARTS})", 7, value=7),
    read_as(f"split(request.object.{PARTS}, '/')", [], "AnyIn", ["b"]),
    read_as(f"parse_json(request.object.{PARTS}).name", "b", value="b"),
    read_as(f"request.object.{PARTS} | base64_decode(@).parse_json(@).name", "b", value="b"),
    read_as(
        f"parse_json(request.object.{PARTS}).a || parse_json(request.object.{PARTS}).b.c",
        "b",
        value="b",
    ),
    read_as(of_object("metadata.annotations | keys(@)"), [], "AnyNotIn", ["parts"]),
    read_as(of_object("metadata.annotations | values(@)"), [], "AnyIn", ["x"]),
    read_as(of_object("spec.volumes[].name | join('-', @)"), "a", value="a"),
    read_as(of_object("spec.volumes[].name | sort(@) | [0]"), "a", value="a"),
    # Null within a text is the text `null`.
    deny(
        {
            "key": "/{{ request.object.metadata.name | split(@, '/') | [1] }}",
            "operator": "Equals",
            "value": "/null",
        }
    ),
]


@pytest.mark.parametrize("rule", OPTIONAL_READS)
def test_fields_that_are_missing_are_read_as_the_rule_reads_them(rule, denials):
    plain = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "plain"}}
    plain["spec"] = {"containers": [{"name": "a", "image": "nginx"}]}
    empty = {**plain, "metadata": {"name": "empty", "annotations": {}}}
    empty["spec"] = {**plain["spec"], "volumes": []}
    other = {**plain, "metadata": {"name": "other", "annotations": {"other": "x"}}}
    other["spec"] = {**plain["spec"], "volumes": [{"name": "a", "emptyDir": {}}]}
    denials(rule, [plain, empty, other])
