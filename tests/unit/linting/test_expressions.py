import pytest

from kyvsim.linting.expressions import (
    constant_conditions,
    deprecated_operators,
    exclusive_conditions,
    impossible_calls,
    later_entries,
    unquoted_keys,
    unread_entries,
    unreadable_queries,
)

# unread entries


def entry(name, **variable):
    return {"name": name, "variable": variable or {"value": "v"}}


def says(text):
    return {"validate": {"message": text, "deny": {}}}


FIRES = [
    ({"context": [entry("a")]}, ["context/0"]),
    ({"context": [entry("a"), entry("b")], **says("{{ b }}")}, ["context/0"]),
    ({"context": [entry("a")], **says("{{ ab }} {{ a_b }}")}, ["context/0"]),
    ({"context": [entry("a", jmesPath="a.b")]}, ["context/0"]),
    (
        {"validate": {"foreach": [{"list": "x", "context": [entry("a")], "deny": {}}]}},
        ["validate/foreach/0/context/0"],
    ),
]
PASSES = [
    {"context": [entry("a")], **says("{{ a }}")},
    {"context": [entry("a")], **says("{{ x.y[a] }} plain")},
    {"context": [entry("a"), entry("b", jmesPath="a.x")], **says("{{ b }}")},
    {"context": [entry("a")], "validate": {"pattern": {"{{ a }}": "x"}}},
    {"context": [entry("a")], **says("{{ {{ request.object.x }} }}")},
    {"context": [entry("a"), entry("b", jmesPath="{{ request.object.x }}")], **says("{{ b }}")},
    {"validate": {"foreach": [{"list": "a", "context": [entry("a")], "deny": {}}]}},
    {"mutate": {"patchStrategicMerge": {"context": [{"name": "a"}]}}},
]


@pytest.mark.parametrize(("rule", "paths"), FIRES)
def test_unread_entries_fires(remarks, rule, paths):
    found = remarks(unread_entries, rule)
    assert [path for _, path, _ in found] == [f"spec/rules/0/{path}" for path in paths]
    assert {code for code, _, _ in found} == {"KV204"}


@pytest.mark.parametrize("rule", PASSES)
def test_unread_entries_leaves_alone(remarks, rule):
    assert remarks(unread_entries, rule) == []


# query syntax


def looping(loop):
    return {"validate": {"foreach": [{"list": "a", "deny": {}, **loop}]}}


CALL = {"name": "x", "apiCall": {"urlPath": "/x", "jmesPath": "items["}}
FIRES_QUERY_SYNTAX = [
    (
        looping({"list": "a.b["}),
        "validate/foreach/0/list",
        "`a.b[` is not valid JMESPath: SyntaxError",
    ),
    (
        looping({"context": [CALL]}),
        "validate/foreach/0/context/0/apiCall/jmesPath",
        "`items[` is not valid JMESPath",
    ),
]
PASSES_QUERY_SYNTAX = [
    looping({}),
    looping({"list": "a.b[{{ c }}"}),
    {"context": [CALL]},  # refused by a check
    {"mutate": {"patchStrategicMerge": {"jmesPath": "a["}}},
]


@pytest.mark.parametrize(("rule", "path", "part"), FIRES_QUERY_SYNTAX)
def test_query_syntax_fires(remarks, rule, path, part):
    ((code, found, message),) = remarks(unreadable_queries, rule)
    assert (code, found) == ("KV209", f"spec/rules/0/{path}")
    assert part in message


@pytest.mark.parametrize("rule", PASSES_QUERY_SYNTAX)
def test_query_syntax_leaves_alone(remarks, rule):
    assert remarks(unreadable_queries, rule) == []


# function calls


FIRES_FUNCTION_CALLS = [
    (says("{{ lenght(a) }}"), "unknown function `lenght`: did you mean `length`?"),
    (says("{{ a[?b].{c: qqqqq(@)} }}"), "unknown function `qqqqq`"),
    (says("{{ split('a') }}"), "function `split` takes 2 arguments, not 1"),
    (says("{{ not_null() }}"), "function `not_null` takes at least 1 argument, not 0"),
    (says("{{ {{ nope(a) }} }}"), "unknown function `nope`"),
    (says("{{ a | default('x') }}"), "unknown function `default`: a default is `a || 'b'`"),
    (says("{{ has(a) }}"), "a missing field is null, as in `length(keys(object))` or `field ||"),
    (says("{{ a.all(b, c) }}"), "unknown function `all`: a filter is `list[?test]`"),
    (
        says("{{ startsWith(a, 'b') }}"),
        "unknown function `startsWith`: did you mean `starts_with`?",
    ),
    (says("{{ matches(a, 'b') }}"), "unknown function `matches`: did you mean `regex_match`?"),
    (says("{{ size(a) }}"), "unknown function `size`: did you mean `length`?"),
    (
        {"context": [{"name": "x", "variable": {"jmesPath": "to_uper(a)"}}]},
        "unknown function `to_uper`: did you mean `to_upper`?",
    ),
    ({"validate": {"foreach": [{"list": "keyz(a)", "deny": {}}]}}, "unknown function `keyz`"),
    ({"mutate": {"patchStrategicMerge": {"{{ nope(a) }}": "x"}}}, "unknown function `nope`"),
]
PASSES_FUNCTION_CALLS = [
    says("{{ length(a) }} {{ split(a, b) }} {{ not_null(a, b, c) }}"),
    says("nope(a) and {{ a }}"),
    says("{{ nope({{ a }}) }}"),
    says(r"\{{ nope(a) }}"),
    says("{{ time_now_utc() }}"),
    {"mutate": {"patchStrategicMerge": {"jmesPath": "nope(a)", "list": "nope(a)"}}},
    {"validate": {"cel": {"expressions": [{"expression": "nope('{{ nope(a) }}')"}]}}},
]


@pytest.mark.parametrize(("rule", "part"), FIRES_FUNCTION_CALLS)
def test_function_calls_fires(remarks, rule, part):
    ((code, path, message),) = remarks(impossible_calls, rule)
    assert code == "KV205"
    assert path.startswith("spec/rules/0/")
    assert part in message


@pytest.mark.parametrize("rule", PASSES_FUNCTION_CALLS)
def test_function_calls_leaves_alone(remarks, rule):
    assert remarks(impossible_calls, rule) == []


# constant conditions


FIELD = "{{ request.object.spec.x }}"
OPERATION = "{{ request.operation }}"
CONSTANT = [
    ("a", "Equals", "a", "always"),
    ("a", "NotEquals", "a", "never"),
    (FIELD, "AnyIn", [], "never"),
    (FIELD, "GreaterThan", "many", "never"),
    (FIELD, "LessThanOrEquals", ["1"], "never"),
    (FIELD, "DurationLessThan", True, "never"),
    (OPERATION, "NotEquals", "create", "always"),
    (OPERATION, "AnyIn", ["MAKE"], "never"),
    ("{{ request.operation || 'NONE' }}", "Equals", "SOME", "never"),
]
LENGTH = "{{ length(request.object.spec.x) }}"
CONSTANT += [
    (LENGTH, "LessThan", 0, "never"),
    (LENGTH, "LessThan", "0", "never"),
    (LENGTH, "LessThanOrEquals", -1, "never"),
    ("{{length(request.object.spec.x[?a == 'b'])}}", "GreaterThanOrEquals", 0, "always"),
    (LENGTH, "GreaterThan", -1, "always"),
]
IMAGES = "{{ request.object.spec.containers[].image }}"
TEAM = "{{ request.object.metadata.labels.team || '' }}"
CONSTANT += [
    (IMAGES, "Equals", "nginx", "never"),
    (IMAGES, "NotEquals", "nginx", "always"),
    ("{{ request.object.spec.containers[?name == 'a'] }}", "Equals", "a", "never"),
    (TEAM, "Equals", True, "never"),
    ("{{ request.object.spec.replicas }}", "Equals", ">3", "never"),
    ("{{ request.object.spec.replicas }}", "NotEquals", "<= 3", "always"),
    ("{{ request.namespace }}", "AnyIn", "a,b", "never"),
    ("{{ request.object.metadata.name }}", "NotEquals", "a, b", "always"),
    ('{{ request.object.metadata.annotations."a/b" }}', "Equals", False, "never"),
]
OPEN = [
    (IMAGES, "Equals", ["nginx"]),
    (IMAGES, "AnyIn", "nginx"),
    ("{{ request.object.spec.containers[0].image }}", "Equals", "nginx"),
    ("{{ request.object.spec.containers[].image | [0] }}", "Equals", "nginx"),
    (TEAM, "Equals", "true"),
    (TEAM, "Equals", "a,b"),
    (TEAM, "Equals", "> 1 year"),
    ("{{ request.namespace }}", "AnyIn", ["a", "b"]),
    ("{{ request.object.spec.hostPID }}", "Equals", True),
    (FIELD, "Equals", "a"),
    ("a", "Equals", FIELD),
    (FIELD, "AllIn", []),
    (FIELD, "AnyNotIn", []),
    (FIELD, "GreaterThan", "1Gi"),
    (FIELD, "GreaterThan", "Inf"),
    (OPERATION, "AnyIn", ["CREATE", "UPDATE", "DELETE", "CONNECT"]),
    (OPERATION, "Equals", "C*"),
    ("{{ request.operation || 'NONE' }}", "NotEquals", "NONE"),
    ("$(./x)", "Equals", "a"),
    (LENGTH, "GreaterThan", 0),
    (LENGTH, "LessThanOrEquals", "0"),
    (LENGTH, "GreaterThanOrEquals", 1),
    (LENGTH, "LessThan", "1h"),
    (LENGTH, "GreaterThan", "1h"),
    (LENGTH, "DurationGreaterThan", "24h"),
    (LENGTH, "Equals", 3),
    ("{{ length(a) || b }}", "GreaterThanOrEquals", 0),
    ("{{ length(a) }}{{ length(b) }}", "LessThan", 0),
    ("{{ length(a) - length(b) }}", "LessThan", 0),
    ("a-{{ length(a) }}", "LessThan", 0),
]


def rule(key, operator, value):
    return {
        "validate": {
            "deny": {"conditions": {"any": [{"key": key, "operator": operator, "value": value}]}}
        }
    }


@pytest.mark.parametrize(("key", "operator", "value", "word"), CONSTANT)
def test_fires_on_what_always_comes_out_the_same(remarks, key, operator, value, word):
    ((code, path, message),) = remarks(constant_conditions, rule(key, operator, value))
    assert (code, path) == ("KV222", "spec/rules/0/validate/deny/conditions/any/0")
    assert f"the condition is {word} true" in message


@pytest.mark.parametrize(("key", "operator", "value"), OPEN)
def test_leaves_alone_what_may_come_out_otherwise(remarks, key, operator, value):
    assert remarks(constant_conditions, rule(key, operator, value)) == []


def test_long_lists_with_wildcards_are_not_compared(remarks):
    key, value = [f"a*{n}" for n in range(1000)], [f"b*{n}" for n in range(1000)]
    assert remarks(constant_conditions, rule(key[:100], "AnyIn", value[:100]))
    assert remarks(constant_conditions, rule(key, "AnyIn", value)) == []


# exclusive conditions


NAME = "{{ request.object.metadata.name }}"
EXCLUSIVE = [
    [(OPERATION, "Equals", "CREATE"), ("{{request.operation}}", "Equals", "UPDATE")],
    [(NAME, "Equals", "web"), (NAME, "NotEquals", "web")],
    [(NAME, "Equals", "web"), (NAME, "AnyIn", ["shop", "s*"])],
    [(NAME, "Equals", "web"), (OPERATION, "Equals", "CREATE"), (NAME, "Equals", "w?")],
    [(NAME, "Equals", "web"), (NAME, "AllNotIn", ["web"])],
]
TOGETHER = [
    [(NAME, "Equals", "web"), (OPERATION, "Equals", "CREATE")],
    [(NAME, "Equals", "web"), (NAME, "Equals", "w*")],
    [(NAME, "Equals", "a*"), (NAME, "Equals", "*b")],
    [(NAME, "Equals", "1h"), (NAME, "Equals", "60m")],
    [(NAME, "Equals", "1Gi"), (NAME, "Equals", "1024Mi")],
    [(NAME, "Equals", "1e3"), (NAME, "Equals", 1000)],
    [(NAME, "Equals", ""), (NAME, "NotEquals", "web")],
    [(NAME, "Equals", "web"), (NAME, "Equals", OPERATION)],
    [(NAME, "NotEquals", "web"), (NAME, "NotEquals", "shop")],
    [("{{ random('[a-z]') }}", "Equals", "a"), ("{{ random('[a-z]') }}", "Equals", "b")],
    [("a-{{ x }}", "Equals", "a-b"), ("a-{{ x }}", "Equals", "a-c")],
]


def written(conditions):
    return [{"key": key, "operator": name, "value": value} for key, name, value in conditions]


@pytest.mark.parametrize("conditions", EXCLUSIVE)
@pytest.mark.parametrize(
    "place",
    [
        lambda given: {"preconditions": {"all": given}},
        lambda given: {"preconditions": given},
        lambda given: {"validate": {"deny": {"conditions": {"all": given}}}},
        lambda given: {"validate": {"foreach": [{"preconditions": {"all": given}}]}},
    ],
)
def test_what_never_holds_together_is_told_once(remarks, conditions, place):
    ((code, path, message),) = remarks(exclusive_conditions, place(written(conditions)))
    assert code == "KV223"
    assert path.endswith(f"/{len(conditions) - 1}")
    assert "another condition requires `{{ request." in message


@pytest.mark.parametrize("conditions", TOGETHER)
def test_what_may_hold_together_is_left_alone(remarks, conditions):
    given = {"preconditions": {"all": written(conditions)}}
    assert remarks(exclusive_conditions, given) == []


@pytest.mark.parametrize("conditions", EXCLUSIVE)
def test_one_of_any_is_enough(remarks, conditions):
    assert remarks(exclusive_conditions, {"preconditions": {"any": written(conditions)}}) == []


def test_conditions_of_two_lists_are_two(remarks):
    first, second = written(EXCLUSIVE[0])
    rule = {
        "preconditions": {"all": [first]},
        "validate": {"deny": {"conditions": {"all": [second]}}},
    }
    assert remarks(exclusive_conditions, rule) == []


def test_the_older_operator_says_the_same(remarks):
    given = written([(NAME, "Equal", "web"), (NAME, "Equal", "shop")])
    assert len(remarks(exclusive_conditions, {"preconditions": {"all": given}})) == 1


# deprecated operators


def having(operator):
    return [{"key": "a", "operator": operator, "value": "b"}]


CONDITION_FIRES = [
    ({"preconditions": having("In")}, "preconditions/0/operator", "use `AnyIn` or `AllIn`"),
    ({"preconditions": {"any": having("NotIn")}}, "preconditions/any/0/operator", "`AllNotIn`"),
    (
        {"validate": {"deny": {"conditions": {"all": having("Equal")}}}},
        "validate/deny/conditions/all/0/operator",
        "use `Equals`",
    ),
    (
        {"validate": {"foreach": [{"list": "a", "deny": {"conditions": having("NotEqual")}}]}},
        "validate/foreach/0/deny/conditions/0/operator",
        "use `NotEquals`",
    ),
]
AFFINITY = {"spec": {"affinity": [{"key": "zone", "operator": "In", "values": ["a"]}]}}
CONDITION_PASSES = [
    {"preconditions": {"all": having("AnyIn")}},
    {"preconditions": having("Equals")},
    {"validate": {"pattern": AFFINITY}},
    {"mutate": {"patchStrategicMerge": {"any": AFFINITY, "conditions": having("In")}}},
]


@pytest.mark.parametrize(("rule", "path", "part"), CONDITION_FIRES)
def test_fires(remarks, rule, path, part):
    ((code, found, message),) = remarks(deprecated_operators, rule)
    assert (code, found) == ("KV201", f"spec/rules/0/{path}")
    assert part in message


@pytest.mark.parametrize("rule", CONDITION_PASSES)
def test_leaves_alone(remarks, rule):
    assert remarks(deprecated_operators, rule) == []


def queried(name, query):
    return entry(name, jmesPath=query)


@pytest.mark.parametrize(
    ("entries", "message", "found"),
    [
        ([queried("a", "b"), entry("b", value=1)], "{{ a }}", ["KV341"]),
        ([entry("a", value="{{ b }}-x"), entry("b", value=1)], "{{ a }}", ["KV341"]),
        ([queried("a", "length(b.c || `[]`)"), entry("b", value=1)], "{{ a }}", ["KV341"]),
        ([entry("b", value=1), queried("a", "b")], "{{ a }}", []),
        ([queried("a", "b"), entry("b", value=1)], "{{ b }} {{ a }}", []),
        ([queried("a", "request.object.b"), entry("b", value=1)], "{{ a }} {{ b }}", []),
        ([queried("a", "'b'"), entry("b", value=1)], "{{ a }}", []),
        ([entry("c", value=1), queried("a", "c.x || b"), entry("b", value=1)], "{{ a }}", []),
        ([queried("a", "b"), entry("b", value=1), entry("b", value=2)], "{{ a }}", []),
    ],
)
def test_entries_that_use_later_ones(remarks, entries, message, found):
    rule = {"context": entries, "validate": {"message": message, "deny": {}}}
    assert [code for code, _, _ in remarks(later_entries, rule)] == found


def test_an_entry_of_a_loop_that_uses_one_of_the_rule(remarks):
    loop = {
        "list": "request.object.spec.containers",
        "context": [queried("a", "b")],
        "deny": {"conditions": {"any": [{"key": "{{ a }}", "operator": "Equals", "value": 1}]}},
    }
    rule = {"context": [entry("b", value=1)], "validate": {"message": "m", "foreach": [loop]}}
    assert remarks(later_entries, rule) == []


def test_a_list_in_braces(remarks):
    def loops(text):
        return {"validate": {"foreach": [{"list": text, "deny": {}}]}}

    ((code, path, text),) = remarks(unreadable_queries, loops("{{ request.object.spec.a }}"))
    assert (code, path) == ("KV209", "spec/rules/0/validate/foreach/0/list")
    assert text.endswith("write `request.object.spec.a`")
    assert remarks(unreadable_queries, loops('request.object.spec."{{ request.name }}"')) == []


def compared(*pairs):
    return [
        {"key": "{{ request.object.spec.a }}", "operator": operator, "value": value}
        for operator, value in pairs
    ]


@pytest.mark.parametrize(
    ("group", "pairs", "found"),
    [
        ("all", [("LessThan", 2), ("GreaterThan", 10)], ["KV223"]),
        ("all", [("GreaterThanOrEquals", "1Gi"), ("LessThan", "512Mi")], ["KV223"]),
        ("all", [("GreaterThan", 2), ("LessThan", 10)], []),
        ("all", [("GreaterThan", 2), ("LessThan", "{{ a }}")], []),
        ("all", [("GreaterThan", 2), ("LessThan", 2)], []),
        ("any", [("LessThan", 2), ("GreaterThan", 10)], []),
        ("any", [("GreaterThan", 2), ("LessThan", 10)], ["KV222"]),
    ],
)
def test_bounds(remarks, group, pairs, found):
    rule = {"validate": {"deny": {"conditions": {group: compared(*pairs)}}}}
    reported = remarks(exclusive_conditions, rule) + remarks(constant_conditions, rule)
    assert [code for code, _, _ in reported] == found


@pytest.mark.parametrize(
    ("value", "is_regex"),
    [
        (r"^[a-z-]+\.example\.com$", True),
        ("^prod", True),
        (r"v\d+$", True),
        ("[a-z]+$", True),
        ("*.example.com", False),
        ("a$", False),
        ("[a]", False),
    ],
)
def test_values_are_no_regular_expressions(remarks, value, is_regex):
    condition = {"key": "{{ request.object.spec.a }}", "operator": "NotEquals", "value": value}
    rule = {"validate": {"deny": {"conditions": {"any": [condition]}}}}
    found = remarks(constant_conditions, rule)
    assert ["write `regex_match('" in text for _, _, text in found] == [True] * is_regex


@pytest.mark.parametrize(
    ("key", "operator", "value", "found"),
    [
        ("{{ request.object.metadata.labels.a }}", "Equals", "", "KV356"),
        ('{{ request.object.metadata.annotations."a/b" }}', "NotEquals", "", "KV356"),
        ("{{ request.object.spec.template.metadata.labels.a }}", "NotEqual", "", "KV356"),
        ("{{ request.object.metadata.labels.a || '' }}", "Equals", "", ""),
        ("{{ request.object.metadata.labels.a }}", "Equals", "b", ""),
        ("{{ request.object.metadata.name }}", "Equals", "", ""),
        ("{{ request.object.spec.a }}", "NotEquals", "{{ request.object.spec.a }}", "KV222"),
        ("{{ request.object.spec.a }}", "NotEquals", "{{ request.oldObject.spec.a }}", ""),
        (
            "{{ target.metadata.creationTimestamp }}",
            "LessThan",
            "{{ time_add('{{ time_now_utc() }}', '-24h') }}",
            "KV222",
        ),
        ("{{ time_now_utc() }}", "GreaterThan", "2026-01-01T00:00:00Z", "KV222"),
        ("{{ time_now_utc() }}", "GreaterThan", "{{ target.spec.end }}", "KV222"),
        ("{{ element.metadata.creationTimestamp }}", "DurationGreaterThan", "24h", "KV222"),
        ("{{ time_since('', request.object.a, '') }}", "GreaterThan", "24h", ""),
        ("{{ random('[a-z]') }}", "Equals", "{{ random('[a-z]') }}", ""),
        ("{{ element.image }}", "Equals", "latest", "KV222"),
        ("{{ element.image }}", "NotEquals", ":latest", "KV222"),
        ("{{ element.image }}", "Equals", "*:latest", ""),
        ("{{ element.image }}", "Equals", "nginx", ""),
    ],
)
def test_values_of_conditions(remarks, key, operator, value, found):
    condition = {"key": key, "operator": operator, "value": value}
    rule = {"validate": {"deny": {"conditions": {"any": [condition]}}}}
    reported = [code for code, _, _ in remarks(constant_conditions, rule)]
    assert reported == ([found] if found else [])


@pytest.mark.parametrize(
    ("text", "reported"),
    [
        ("{{ images.containers.{{element.name}}.tag }}", True),
        ('{{ images.containers."{{element.name}}".tag }}', False),
        (r"\{{ .{{ element.name }} }}", False),
        (r"\{{ a.{{ element.name }} }}", False),
        ("{{ element.name }}.{{ element.image }}", False),
    ],
)
def test_variables_as_keys_without_quotes(remarks, text, reported):
    condition = {"key": text, "operator": "Equals", "value": "a"}
    loop = {"list": "request.object.spec.containers", "deny": {"conditions": {"any": [condition]}}}
    found = remarks(unquoted_keys, {"validate": {"message": "m", "foreach": [loop]}})
    assert [code for code, _, _ in found] == ["KV305"] * reported


# patterns in lists


def compares(key, operator, value):
    condition = {"key": f"{{{{ {key} }}}}", "operator": operator, "value": value}
    return {"validate": {"deny": {"conditions": {"any": [condition]}}}}


LABEL = "request.object.metadata.labels.tier || ''"


@pytest.mark.parametrize(
    ("rule", "index", "text"),
    [
        (compares("element.weight", "AnyIn", [0, "10-20"]), 1, "write a condition with `value: 10"),
        (compares("element.weight", "AllNotIn", ["10-20", "30"]), 0, "text in a list"),
        (compares("element.weight", "AnyIn", ["<=3"]), 0, "`LessThanOrEquals` with `3`"),
        (compares("element.weight", "AnyNotIn", ["<=3"]), 0, "`GreaterThan` with `3`"),
        (compares("element.weight", "NotIn", ["> 3", "a"]), 0, "`LessThanOrEquals` with `3`"),
        (compares("element.class", "AnyIn", ["a", "!b"]), 1, "write `AnyNotIn` with `b`"),
        (compares(LABEL, "AllNotIn", ["!b*"]), 0, "write `AllIn` with `b*`"),
    ],
)
def test_a_pattern_as_an_item_of_a_list(remarks, rule, index, text):
    ((code, path, message),) = remarks(constant_conditions, rule)
    assert (code, path.rpartition("/value/")[2]) == ("KV349", str(index))
    assert text in message


@pytest.mark.parametrize(
    "rule",
    [
        compares("element.weight", "AnyIn", "10-20"),
        compares("element.weight", "AnyIn", [10, 20]),
        compares(LABEL, "AnyIn", ["2023-2024", "a"]),
        compares("element.class", "AnyIn", ["a*", "b-c"]),
        compares("request.object.metadata.annotations.limit", "AnyIn", ["<3", "!b"]),
    ],
)
def test_items_that_are_values(remarks, rule):
    assert remarks(constant_conditions, rule) == []


@pytest.mark.parametrize(
    ("key", "value", "found"),
    [
        (LABEL, "gold | silver", ["KV222"]),
        ("request.object.metadata.name", "web|api", ["KV222"]),
        ("request.object.metadata.name", "web, api", ["KV222"]),
        (LABEL, "gold", []),
        ("request.object.metadata.labels.tier || 'a|b'", "a|b", []),
        ("request.object.metadata.annotations.tier", "gold | silver", []),
    ],
)
def test_several_values_in_one_string(remarks, key, value, found):
    rule = compares(key, "Equals", value)
    assert [code for code, _, _ in remarks(constant_conditions, rule)] == found


@pytest.mark.parametrize(
    ("key", "operator", "value", "found"),
    [
        ("request.object.spec.storageClassName", "AnyNotIn", "gp3, io2", ["KV222"]),
        ("request.object.spec.accessModes", "AnyIn", "ReadWriteMany,ReadOnlyMany", ["KV222"]),
        ("request.object.spec.containers[].image", "AllNotIn", "a.com/a,b.com/b", ["KV222"]),
        ("request.object.spec.type || ''", "In", "NodePort\nLoadBalancer\n", ["KV222"]),
        ("request.object.spec.type", "AnyIn", "NodePort\n", ["KV222"]),
        ("request.object.metadata.name", "Equals", "web-*\n", ["KV222"]),
        ("request.object.spec.replicas", "AnyIn", "1-3\n", []),
        ("request.object.metadata.annotations.text", "Equals", "a\n", []),
        ("request.object.spec.type", "AnyIn", '["NodePort"]\n', []),
        ("request.object.spec.motd", "Equals", "a\nb\n", []),
        ("request.object.spec.type", "AnyIn", '["NodePort", "LoadBalancer"]', []),
        ("request.object.spec.replicas", "AnyIn", "1-3", []),
        ("request.object.metadata.annotations.hosts", "AnyIn", "a.com,b.com", []),
        ("request.object.spec.subject", "AnyIn", "CN=a,O=b", []),
        ("request.object.spec.type", "AnyIn", "{{ allowed }},b", []),
    ],
)
def test_several_names_for_an_operator_of_lists(remarks, key, operator, value, found):
    condition = {"key": f"{{{{ {key} }}}}", "operator": operator, "value": value}
    rule = {"validate": {"deny": {"conditions": {"any": [condition]}}}}
    assert [code for code, *_ in remarks(constant_conditions, rule)] == found
