import pytest

from kyvsim.linting.calls import call_problems, unanchored_searches


def denies(expression):
    condition = {"key": f"{{{{ {expression} }}}}", "operator": "Equals", "value": "x"}
    return {"validate": {"deny": {"conditions": {"any": [condition]}}}}


@pytest.mark.parametrize(
    ("expression", "codes"),
    [
        ("regex_match(request.object.spec.nodeName, '^gpu-.*')", ["KV336"]),
        ("regex_match('{{ request.name }}', '^gpu')", ["KV336"]),
        ("pattern_match(request.object.spec.nodeName, 'gpu-*')", ["KV336"]),
        ("regex_match('^gpu-.*', request.object.spec.nodeName)", []),
        ("regex_match('^gpu-.*', '{{ request.name }}')", []),
        ("regex_match(request.object.spec.nodeName, 'gpu')", []),
        ("regex_match(settings.data.expression, 'a.b')", []),
        ("pattern_match('gpu-*', request.object.spec.nodeName)", []),
        ("regex_match(settings.data.expression, '{{ request.name }}')", []),
    ],
)
def test_arguments_in_the_wrong_order(remarks, expression, codes):
    assert [code for code, _, _ in remarks(call_problems, denies(expression))] == codes


@pytest.mark.parametrize(
    ("expression", "code", "text"),
    [
        (r"split(request.object.spec.nodeName, '\.')", "KV351", "write `.`"),
        (r"starts_with(request.object.spec.nodeName, 'a\-')", "KV351", "write `a-`"),
        (r"replace_all(request.object.spec.nodeName, '\+', '')", "KV351", "write `+`"),
        (r"pattern_match('\*a', request.object.spec.nodeName)", "KV351", "write `*a`"),
        (r"request.object.spec.volumes[?name == 'a\.b'] | length(@)", "KV309", "write `a.b`"),
    ],
)
def test_escapes_where_there_are_none(remarks, expression, code, text):
    ((found, _, message),) = remarks(call_problems, denies(expression))
    assert found == code
    assert message.startswith("there are no escapes here")
    assert text in message


@pytest.mark.parametrize(
    "expression",
    [
        r"regex_match('a\.b', request.object.spec.nodeName)",
        r"regex_replace_all('\+', request.object.spec.nodeName, '')",
        r"contains(request.object.spec.hostname, 'C:\.ssh')",
        r"contains(request.object.spec.hostname, '\\.\pipe')",
        r"contains(request.object.spec.hostname, '\\')",
    ],
)
def test_backslashes_that_are_meant(remarks, expression):
    assert remarks(call_problems, denies(expression)) == []


def compares(expression, value, operator="AnyIn"):
    condition = {"key": f"{{{{ {expression} }}}}", "operator": operator, "value": value}
    return {"validate": {"deny": {"conditions": {"any": [condition]}}}}


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (compares("to_lower(request.object.spec.hostname)", ["a", "B"]), "never `B`: write `b`"),
        (compares("to_upper(request.object.spec.a || '') || 'x'", "b", "NotEquals"), "write `B`"),
        (compares("request.object.spec.a | to_lower(@)", "A-*", "Equals"), "write `a-*`"),
        (compares("split(request.object.spec.a, ';')", ["a;b"]), "contains `;`"),
        (compares("split(request.object.spec.a, ';')[0]", "a;b", "Equals"), "contains `;`"),
        (compares("request.object.spec.a[].to_lower(@)", ["A"]), "write `a`"),
        (compares("map(&to_upper(name), request.object.spec.a)", ["a"]), "write `A`"),
        (compares("trim(request.object.spec.a, '-')", "-a-", "Equals"), "write `a`"),
        (compares("truncate(request.object.spec.a, `2`)", ["abc"]), "at most 2 characters"),
        (denies("to_lower(request.object.spec.a) == 'A' && 'x'"), "write `a`"),
        (denies("request.object.spec.a[?to_upper(name) != 'a'] | length(@)"), "write `A`"),
        (denies("starts_with(to_upper(request.object.spec.a), 'a-')"), "write `A-`"),
        (denies("contains(split(request.object.spec.a, ','), 'b,c')"), "contains `,`"),
        (denies("regex_match('^A.*', to_lower(request.object.spec.a))"), "write `^a"),
    ],
)
def test_constants_that_a_call_never_returns(remarks, rule, text):
    ((code, _, message),) = remarks(call_problems, rule)
    assert code == "KV349"
    assert text in message


@pytest.mark.parametrize(
    "rule",
    [
        compares("to_lower(request.object.spec.a)", ["a", "1", "b-*"]),
        compares("to_lower(request.object.spec.a) || 'B'", ["B"]),
        compares("to_lower(request.object.spec.a)", "{{ request.object.spec.B }}"),
        compares("split(request.object.spec.a, ';')", ["a", ""]),
        compares("truncate(request.object.spec.a, `2`)", ["ab", "abc*"]),
        compares("trim(request.object.spec.a, '-')", "a-b"),
        compares("request.object.spec.a", ["A"]),
        denies("ends_with(trim(request.object.spec.a, ' '), 'a ')"),
        denies("equal_fold(to_lower(request.object.spec.a), 'A')"),
        denies("regex_match('(?i)^A', to_lower(request.object.spec.a))"),
        denies(r"regex_match('^[A-Z]\S+$', to_upper(request.object.spec.a))"),
    ],
)
def test_constants_that_a_call_may_return(remarks, rule):
    assert remarks(call_problems, rule) == []


def test_an_escape_in_the_value_of_a_condition(remarks):
    ((code, path, message),) = remarks(
        call_problems, compares("request.object.spec.a", [r"docker\.io/\*"])
    )
    assert (code, path.rpartition("/")[2]) == ("KV309", "value")
    assert message.endswith("write `docker.io/*`")
    assert remarks(call_problems, compares("request.object.spec.a", [r"^docker\.io/.*$"])) == []


@pytest.mark.parametrize(
    "expression",
    [
        "contains(request.object.spec.containers[].image, ':latest')",
        "contains(request.object.spec.[containers, initContainers][][].image, 'ghcr.io/')",
        "contains(request.object.spec.containers[*].image, 'latest')",
        "!contains(request.object.spec.volumes[].name, 'tmp-')",
        "length(request.object.spec.a) > `1` && contains(request.object.spec.volumes[].name, 'a*')",
    ],
)
def test_a_part_of_a_string_in_a_list(remarks, expression):
    ((code, _, text),) = remarks(call_problems, denies(expression))
    assert code == "KV339"
    assert "| [?contains(@, '" in text


@pytest.mark.parametrize(
    "expression",
    [
        "contains(request.object.spec.containers[].image, 'nginx:1.27')",
        "contains(request.object.spec.containers[0].image, ':latest')",
        "contains(request.object.rules[].verbs[], '*')",
        "contains(request.object.spec.volumes[].name, 'tmp')",
        "contains(request.object.spec.containers[].image, request.object.spec.nodeName)",
        "request.object.spec.containers[].image | [?contains(@, ':latest')]",
        "contains(keys(request.object.metadata.labels), 'team-')",
        "contains(request.object.spec.containers[].image",
    ],
)
def test_whole_elements_and_single_strings(remarks, expression):
    assert remarks(call_problems, denies(expression)) == []


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("starts_with('docker.io/', element.image)", "write `starts_with(…, 'docker.io/')`"),
        ("contains(':latest', element.image)", "write `contains(…, ':latest')`"),
        ("split(',', request.object.data.names)", "write `split(…, ',')`"),
    ],
)
def test_a_constant_in_the_place_of_the_whole_string(remarks, expression, advice):
    ((code, _, text),) = remarks(call_problems, denies(expression))
    assert code == "KV336"
    assert advice in text


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("time_add(time_now_utc(), '30d')", "(write `720h`)"),
        ("time_before(time_now_utc(), '2024-01-31')", "parsing time"),
        ("semver_compare(request.object.data.version, '>=1.2')", "Could not parse Range"),
        ("regex_match('[a-z', request.object.metadata.name)", "missing closing ]"),
        ("divide(length(request.object.spec.containers), `0`)", "Zero divisor"),
        ("contains(base64_decode('a b'), request.name)", "illegal base64"),
        ("to_upper(image_normalize('{{ request.name }}:a b'))", ""),
    ],
)
def test_a_call_that_fails_for_all_values(remarks, expression, reason):
    found = [(code, text) for code, _, text in remarks(call_problems, denies(expression))]
    assert [code for code, _ in found] == (["KV205"] if reason else [])
    assert all("always fails" in text and reason in text for _, text in found)


@pytest.mark.parametrize(
    ("expression", "advice"),
    [
        ("trim(request.namespace, 'team-')", "write `trim_prefix(…, 'team-')`"),
        ("time_parse('YYYY-MM-DD', request.object.data.day)", "write `2006-01-02`"),
        ("time_since('%Y-%m-%d', request.object.data.day, '')", "write `2006-01-02`"),
        ("starts_with(element.image, 'ghcr.io/*')", "write `ghcr.io/`, or `pattern_match("),
        ("ends_with(element.image, '*latest')", "write `latest`"),
        (r"regex_replace_all('^a/(.*)$', element.image, 'b/\1')", "write `b/${1}`"),
        ("time_since('', 'target.metadata.creationTimestamp', '')", "is a string, not the value"),
        ("length('request.object.spec.containers[]')", "is a string, not the value"),
    ],
)
def test_a_constant_that_means_something_else(remarks, expression, advice):
    ((code, _, text),) = remarks(call_problems, denies(expression))
    assert code == "KV351"
    assert advice in text


@pytest.mark.parametrize(
    "expression",
    [
        "contains('CREATE,UPDATE', request.operation)",
        "contains('{{ request.object.data.all }}', request.name)",
        "starts_with(element.image, 'docker.io/')",
        "starts_with(element.host, '*.')",
        "ends_with(element.host, '*.example.com')",
        "regex_replace_all('^a/(.*)$', element.image, 'b/$1')",
        "starts_with('docker.io/library', 'docker.io')",
        "split('a,b,c', request.object.data.separator)",
        "split(request.object.data.names, ',')",
        "trim(request.name, ' ')",
        "trim(request.name, 'v')",
        "trim(request.name, '0123456789')",
        "trim(request.name, 'abcdef')",
        "time_parse('2006-01-02', request.object.data.day)",
        "time_parse('02 Jan 06 15:04 MST', request.object.data.day)",
        "time_parse('Monday', request.object.data.day)",
        "time_since('', request.object.metadata.creationTimestamp, '')",
        "time_add(request.object.metadata.creationTimestamp, '720h')",
        "semver_compare(request.object.data.version, '>=1.2.0 <2.0.0')",
        "add(request.object.spec.containers[0].resources.limits.memory, '1Gi')",
        "divide('1h', request.object.data.part)",
        "lookup(request.object.data, 'a')",
        "items(request.object.metadata.labels, 'key', 'value')",
        "object_from_lists(keys(request.object.data), values(request.object.data))",
        "random('[a-z]{5}')",
        "sum(request.object.spec.containers[].resources.limits.memory)",
        "label_match(request.object.metadata.labels, `{}`)",
        "regex_replace_all('a', request.name, 'b')",
        "truncate(request.name, `5`)",
        "no_such_function('a', request.name)",
        "label_match(request.object.metadata.labels, 'a')",
        "round('a', request.object.data.digits)",
        "contains('a', request.name",
    ],
)
def test_calls_that_are_fine(remarks, expression):
    assert remarks(call_problems, denies(expression)) == []


@pytest.mark.parametrize(
    ("expression", "operator", "value", "codes"),
    [
        ("regex_match('[a-z]+-v[0-9]', request.object.metadata.name)", "Equals", False, ["KV360"]),
        ("regex_match('dev|test', request.namespace)", "NotEquals", True, ["KV360"]),
        ("regex_match('^dev|test$', request.namespace)", "Equals", True, ["KV360"]),
        ("regex_match('[A-Z]', request.object.metadata.name)", "Equals", True, []),
        ("regex_match('^[a-z]+$', request.object.metadata.name)", "Equals", False, []),
        ("regex_match('[A-Z]+', request.object.metadata.annotations.a)", "Equals", False, []),
    ],
)
def test_searches_without_anchors(remarks, expression, operator, value, codes):
    rule = denies(expression)
    rule["validate"]["deny"]["conditions"]["any"][0].update(operator=operator, value=value)
    assert [code for code, _, _ in remarks(unanchored_searches, rule)] == codes


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("contains(request.object.spec.hostname, 'tmp-*')", "write `tmp-`"),
        ("contains(request.object.spec.hostname, '*tmp*')", "write `tmp`"),
        ("pattern_match('^a.*', request.object.spec.hostname)", "write `regex_match('^a.*', …)`"),
        ("pattern_match('[a-z]+', request.object.spec.hostname)", "is a regular expression"),
        ("request.object.spec.volumes[?name == 'a-*'] | length(@)", "has no wildcards"),
        ("request.object.spec.containers[?image != '*:latest'].name", "no name is `*:latest`"),
    ],
)
def test_wildcards_and_regular_expressions_where_there_are_none(remarks, expression, text):
    ((code, _, message),) = remarks(call_problems, denies(expression))
    assert code == "KV351"
    assert text in message


@pytest.mark.parametrize(
    "expression",
    [
        "contains(request.object.rules[].verbs[], '*')",
        "contains(request.object.rules[].resources[], 'pods/*')",
        "contains(request.object.spec.hostname, '*.')",
        "pattern_match('registry.example.*', request.object.spec.hostname)",
        "request.object.rules[?verb == 'get*'] | length(@)",
        "request.object.subjects[?name == '*'] | length(@)",
        "request.object.spec.rules[?name == '*.example.com'] | length(@)",
    ],
)
def test_stars_that_are_meant(remarks, expression):
    assert remarks(call_problems, denies(expression)) == []
