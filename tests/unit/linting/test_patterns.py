import pytest

from kyvsim.linting.expressions import constant_conditions, exclusive_conditions
from kyvsim.linting.patterns import misread_patterns, replaced_lists
from kyvsim.model.diagnostic import Severity


def demands(pattern):
    return {"validate": {"pattern": pattern}}


def memory(text):
    return {"spec": {"containers": [{"resources": {"limits": {"memory": text}}}]}}


@pytest.mark.parametrize(
    ("pattern", "code"),
    [
        ({"spec": {"priority": "=> 2"}}, "KV306"),
        ({"spec": {"priority": "=<2"}}, "KV306"),
        ({"spec": {"priority": "==2"}}, "KV306"),
        ({"spec": {"priority": "!=2"}}, "KV306"),
        ({"spec": {"priority": ">abc"}}, "KV307"),
        (memory("<=512MiB"), "KV307"),
        (memory("512MB"), "KV307"),
        (memory("<512m"), "KV307"),
        (memory("1GB-2GB"), "KV307"),
        ({"spec": {"containers": [{"resources": {"requests": {"cpu": "<2Gi"}}}]}}, "KV307"),
        ({"spec": {"priority": "9-5"}}, "KV308"),
        ({"spec": {"priority": "1Gi-512Mi"}}, "KV308"),
        ({"spec": {"priority": "5 - 9"}}, "KV308"),
        ({"spec": {"priority": "5..9"}}, "KV308"),
        ({"spec": {"priority": "5 to 9"}}, "KV308"),
        ({"metadata": {"=(labels)": {"!team": "?*"}}}, "KV306"),
        ({"spec": {"!(hostNetwork)": True}}, "KV306"),
        ({"spec": {"priority": ">9 & <5"}}, "KV308"),
        ({"spec": {"priority": ">5 | <9"}}, "KV308"),
        ({"spec": {"priority": ">=5 | <5"}}, "KV308"),
        ({"spec": {"overhead": {"memory": ">=1Gi | <=2048Mi | 5Gi"}}}, "KV308"),
        ({"spec": {"nodeName": "a & b"}}, "KV308"),
        ({"spec": {"nodeName": "a && b*"}}, "KV308"),
        ({"spec": {"nodeName": "!a* | !b*"}}, "KV308"),
        ({"metadata": {"labels": {"env": "!dev | !test"}}}, "KV308"),
        ({"spec": {"nodeName": "!\\*"}}, "KV309"),
        ({"spec": {"nodeName": "^node-.*$"}}, "KV309"),
        ({"spec": {"(hostNetwork)": True}}, "KV310"),
        ({"spec": {"containers": [{"(image)": "*:latest"}]}}, "KV310"),
        ({"spec": {"=(securityContext)": {"(runAsUser)": 0}}}, "KV310"),
    ],
)
def test_a_pattern_that_means_something_else(remarks, pattern, code):
    ((found, _, _),) = remarks(misread_patterns, demands(pattern))
    assert found == code


@pytest.mark.parametrize(
    "pattern",
    [
        {"spec": {"priority": ">=2"}},
        {"spec": {"priority": "!2 & <=1h"}},
        {"spec": {"nodeName": "a=b"}},
        memory("<=512Mi"),
        memory("?*"),
        memory("<=1Gi | 2G"),
        {"spec": {"containers": [{"resources": {"requests": {"cpu": "<500m"}}}]}},
        {"spec": {"priority": "5-9"}},
        {"spec": {"priority": "5-5"}},
        {"metadata": {"labels": {"date": "2024-01"}}},
        {"spec": {"priority": ">5 & <9"}},
        {"spec": {"priority": ">9 | <5"}},
        {"spec": {"priority": ">5 | <5"}},
        {"spec": {"priority": "<5 | 9"}},
        {"spec": {"nodeName": "!a* & !b*"}},
        {"spec": {"nodeName": "!a* | !ab*"}},
        {"spec": {"nodeName": "a* & *b"}},
        {"spec": {"priority": "!1 | !1.0"}},
        {"spec": {"nodeName": "C:\\*"}},
        {"spec": {"nodeName": "{{ request.object.a }}-5 => 2"}},
        {"spec": {"(hostNetwork)": True, "hostPID": False}},
        {"metadata": {"labels": {"(app)": "x"}}},  # fails without labels
        {"spec": {"X(hostNetwork)": "null"}},
        {"spec": {"containers": [{"(image)": "*:latest", "imagePullPolicy": "Always"}]}},
    ],
)
def test_patterns_that_are_fine(remarks, pattern):
    assert remarks(misread_patterns, demands(pattern)) == []


def test_patterns_of_loops(remarks):
    loop = {"list": "request.object.spec.containers", "pattern": {"name": "=> 2"}}
    ((code, path, _),) = remarks(misread_patterns, {"validate": {"foreach": [loop]}})
    assert (code, path) == ("KV306", "spec/rules/0/validate/foreach/0/pattern/name")


def replaced(remarks, patch, kind="Pod"):
    rule = {
        "match": {"any": [{"resources": {"kinds": [kind]}}]},
        "mutate": {"patchStrategicMerge": patch},
    }

    def warnings(policy):
        found = replaced_lists([policy], {})
        return [one for one in found if one.severity is Severity.WARNING]

    found = remarks(warnings, rule)
    assert {code for code, _, _ in found} <= {"KV311"}
    return [path for _, path, _ in found]


CUSTOM = "example.com/v1/Rollout"


@pytest.mark.parametrize(
    ("patch", "kind", "found"),
    [
        ({"spec": {"hosts": ["a.example.com"]}}, CUSTOM, ["spec/hosts"]),
        ({"spec": {"steps": [{"setWeight": 5}]}}, CUSTOM, ["spec/steps"]),
        ({"spec": {"+(hosts)": ["a.example.com"]}}, CUSTOM, []),
        ({"spec": {"hosts": "{{ request.object.spec.hosts }}"}}, CUSTOM, []),
        ({"spec": {"hosts": ["{{ request.object.spec.hosts[0] }}", "a"]}}, CUSTOM, []),
        ({"metadata": {"finalizers": ["example.com/a"]}}, CUSTOM, []),  # of all kinds
        ({"spec": {"template": {"spec": {"hostAliases": []}}}}, CUSTOM, []),
        ({"spec": {"loadBalancerSourceRanges": ["10.0.0.0/8"]}}, "Service", []),
        ({"spec": {"tls": [{"secretName": "a"}]}}, "Ingress", ["spec/tls"]),
        ({"spec": {"containers": [{"name": "a", "env": [{"name": "b"}]}]}}, "Pod", []),
    ],
)
def test_whole_lists_without_merge_keys(remarks, patch, kind, found):
    rule = {
        "match": {"any": [{"resources": {"kinds": [kind]}}]},
        "mutate": {"patchStrategicMerge": patch},
    }
    reported = {}

    def check(policy):
        for one in replaced_lists([policy], {}):
            reported[one.location.file.partition("patchStrategicMerge/")[2]] = one.severity
        return ()

    remarks(check, rule)
    assert reported == dict.fromkeys(found, Severity.INFO)


NAMED = {"spec": {"containers": [{"(name)": "*", "image": "a"}]}}


@pytest.mark.parametrize(
    ("patch", "kind", "path"),
    [
        ({"spec": {"containers": [{"image": "a"}]}}, "Pod", "spec/containers/0"),
        ({"spec": {"volumes": [{"emptyDir": {}}]}}, "Pod", "spec/volumes/0"),
        ({"spec": {"tolerations": [{"(key)": "a", "effect": "b"}]}}, "Pod", "spec/tolerations"),
        (NAMED, CUSTOM, "spec/containers"),
        ({"spec": {"containers": [{"name": "a", "image": "b"}]}}, CUSTOM, "spec/containers"),
    ],
)
def test_a_merge_that_loses_elements(remarks, patch, kind, path):
    (found,) = replaced(remarks, patch, kind)
    assert found == f"spec/rules/0/mutate/patchStrategicMerge/{path}"


@pytest.mark.parametrize(
    ("patch", "kind"),
    [
        (NAMED, "Pod"),
        ({"spec": {"containers": [{"name": "a", "image": "b"}]}}, "Pod"),
        ({"spec": {"containers": [{"(image)": "a", "imagePullPolicy": "b"}]}}, "Pod"),
        ({"spec": {"containers": [{"+(imagePullPolicy)": "b"}]}}, "Pod"),
        ({"spec": {"tolerations": [{"key": "a", "effect": "b"}]}}, "Pod"),
        ({"spec": {"+(containers)": [{"name": "a", "image": "b"}]}}, CUSTOM),
        ({"spec": {"names": ["a", "b"]}}, CUSTOM),
    ],
)
def test_merges_that_are_fine(remarks, patch, kind):
    assert replaced(remarks, patch, kind) == []


# Conditions with the same mistakes.


def condition(operator, value, key="{{ request.object.spec.a }}"):
    return {"key": key, "operator": operator, "value": value}


def denied(*conditions):
    return {"validate": {"deny": {"conditions": {"any": [*conditions]}}}}


@pytest.mark.parametrize(
    ("operator", "value", "hint"),
    [
        ("GreaterThan", "10GB", "`10G`"),
        ("LessThan", "5minutes", "`5m`"),
        ("DurationLessThan", "1Gi", "durations"),
        ("AnyIn", "9-5", "`5-9`"),
    ],
)
def test_amounts_of_conditions(remarks, operator, value, hint):
    ((code, _, text),) = remarks(constant_conditions, denied(condition(operator, value)))
    assert code == "KV222"
    assert hint in text


@pytest.mark.parametrize(
    ("operator", "value"), [("GreaterThan", "10G"), ("LessThan", "1.2.3"), ("AnyIn", "5-9")]
)
def test_amounts_that_are_fine(remarks, operator, value):
    assert remarks(constant_conditions, denied(condition(operator, value))) == []


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (condition("NotEquals", "a"), condition("NotEquals", "b"), ["KV222"]),
        (condition("NotEquals", "a/*"), condition("NotEquals", "b/*"), ["KV222"]),
        (condition("AnyNotIn", ["a", "b"]), condition("AnyNotIn", ["c"]), ["KV222"]),
        (condition("NotEquals", "a"), condition("NotEquals", "a*"), []),
        (condition("NotEquals", "a"), condition("NotEquals", "b", "{{ request.name }}"), []),
        (condition("NotEquals", "a"), condition("Equals", "b"), []),
        (condition("AnyNotIn", ["a", "b"]), condition("AnyNotIn", ["b"]), []),
        (condition("NotEquals", "1"), condition("NotEquals", "1.0"), []),
    ],
)
def test_conditions_one_of_which_is_always_true(remarks, first, second, found):
    checks = (constant_conditions, exclusive_conditions)
    assert [code for one in checks for code, _, _ in remarks(one, denied(first, second))] == found


@pytest.mark.parametrize("value", [True, False, 1, "a", "a*", {"a": 1}, ["a"]])
def test_the_value_of_a_negation_anchor_is_ignored(remarks, value):
    ((code, path, _),) = remarks(misread_patterns, demands({"spec": {"X(priority)": value}}))
    assert (code, path) == ("KV340", "spec/rules/0/validate/pattern/spec/X(priority)")


@pytest.mark.parametrize("value", [None, "null", "*", "?*", "", {}, [], "{{ request.name }}"])
def test_values_for_fields_that_must_be_missing(remarks, value):
    assert remarks(misread_patterns, demands({"spec": {"X(priority)": value}})) == []


@pytest.mark.parametrize(
    ("value", "advice"), [(True, "`=(a): false`"), ("b", '`=(a): "!b"`'), ({"b": 1}, "")]
)
def test_what_to_write_instead_of_a_negation_anchor(remarks, value, advice):
    ((_, _, text),) = remarks(misread_patterns, demands({"spec": {"X(a)": value}}))
    assert text.endswith(
        "the field `a`" if not advice else f"write {advice} to forbid only this one)"
    )


@pytest.mark.parametrize(
    ("field", "text", "found"),
    [
        ("image", "a:*, b:*", ["KV308"]),
        ("name", "a,b", ["KV308"]),
        ("image", "a:* | b:*", []),
        ("args", "a,b", []),
        ("image", "!a,b", []),
    ],
)
def test_commas_in_patterns_of_names(remarks, field, text, found):
    pattern = {"spec": {"containers": [{field: text}]}}
    assert [code for code, _, _ in remarks(misread_patterns, demands(pattern))] == found


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ({"spec": {"containers": [{"image": "!latest"}]}}, "KV308: write `*:* & !*:latest`"),
        ({"spec": {"containers": [{"image": ":latest"}]}}, "KV308: write `*:latest`"),
        ({"spec": {"containers": [{"image": "ghcr.io/"}]}}, "KV308: `ghcr.io/*` for a registry"),
        ({"spec": {"containers": [{"image": "nginx"}]}}, ""),
        ({"spec": {"containers": [{"image": "!*:latest"}]}}, 'KV360: write `"*:* & !*:latest"`'),
        ({"spec": {"runtimeClassName": "!*"}}, "KV308: write `X(runtimeClassName): null`"),
        ({"spec": {"=(runtimeClassName)": "!*"}}, ""),
        ({"spec": {"resources": {"limits": {"memory": "<=512"}}}}, "KV307: write `<=512Mi`"),
        ({"spec": {"resources": {"limits": {"memory": "<=1073741824"}}}}, ""),
        ({"spec": {"resources": {"limits": {"memory": ">0"}}}}, ""),
        ({"spec": {"resources": {"limits": {"cpu": "<=4"}}}}, ""),
    ],
)
def test_images_and_amounts_that_do_not_exist(remarks, pattern, found):
    reported = remarks(misread_patterns, {"validate": {"message": "m", "pattern": pattern}})
    code, _, advice = found.partition(": ")
    assert [each for each, _, _ in reported] == ([code] if code else [])
    assert all(advice in text for _, _, text in reported)


NOT_LATEST = {"spec": {"containers": [{"image": "!*:latest"}]}}


@pytest.mark.parametrize(
    ("patterns", "reported"),
    [
        ([NOT_LATEST], ["KV360"]),
        ([NOT_LATEST, {"spec": {"containers": [{"image": "ghcr.io/*"}]}}], ["KV360"]),
        ([NOT_LATEST, {"spec": {"containers": [{"image": "*:*"}]}}], []),
        ([NOT_LATEST, {"spec": {"containers": [{"image": "*@*"}]}}], []),
        ([{"spec": {"containers": [{"image": "*:* & !*:latest"}]}}], []),
        ([{"metadata": {"annotations": {"a": "!*:latest"}}}], []),
    ],
)
def test_an_image_without_a_tag_is_latest_too(remarks, patterns, reported):
    found = remarks(misread_patterns, *map(demands, patterns))
    assert [code for code, _, _ in found] == reported
