"""Scripts of any shape end, within their limits, and without an internal error."""

from itertools import chain

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kyvsim.chainsaw.environment import STDERR, STDOUT, ShellEnvironment
from kyvsim.chainsaw.errors import FailedError, ScriptLimits, UnsupportedError, Usage
from kyvsim.chainsaw.shell.interpreter import KilledError, Shell, parsed

NUMBERS = (
    *("0", "1", "2", "-1", "+3", "99", "9" * 25, "9" * 5000, "abc", "", "1.5", "1e9", "0x1f"),
    *("٣", "1_000", " 1", "--", "-", "é", "-5", "100000", "-0"),
)
NAMES = (
    *("f", "g", "./f", "a/../f", "../f", "/etc/passwd", "/proc/self/environ", "/dev/stdin"),
    *(
        "/dev/null",
        "/dev/zero",
        "missing",
        "",
        ".",
        "..",
        "d/f",
        "/tmp/x",
        "~/x",
        "*",
        "[a",
        "f[",
        "?",
    ),
    *("x" * 300, "link", "https://example.com/a.yaml"),
)
PATTERNS = (
    *(
        "a",
        "(a+)+$",
        "\\(a*\\)*b",
        "\\(a\\)\\1",
        "[",
        "[[:x:]]",
        "a{9999}",
        "*",
        "(",
        ")",
        "\\",
        "",
    ),
    *("a|b", "^$", "(a{500}){500}", "[z-a]", "((((((a*)*)*)*)*)*)*b", "(?i)a", "\\d"),
)
TEXTS = (
    *("a", "a b", "'a b'", '"$x"', "$x", "$y$x$x", "${x:-b}", "$(seq 3)", "`echo a`", '"$@"', "$1"),
    *(
        "%s",
        "%d",
        "'%s\\n'",
        "%1000000000s",
        "\\\\",
        "{a,b}",
        "{1..9}",
        "$((9**9))",
        "!",
        "=",
        "-eq",
    ),
    *("-a", "-o", "]", "-n", "-z", "${x//a/b}", "${x%%*a*}", "${x#?}", "$((x + 1))", "$((1%0))"),
)
MANIFESTS = (
    *("a text", "[1, 2]", "5", "{}", "{kind: Pod}", "{apiVersion: v1, kind: Pod}", "a: [", "---"),
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: 5}}",
    "{apiVersion: v1, kind: ConfigMap, metadata: [a]}",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: 5}}",
    "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: {}}, data: 5}",
    "{apiVersion: v1, kind: List, items: [5]}",
    "{apiVersion: v1, kind: List, items: {}}",
    "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: 5}",
    "{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [5]}}",
    "{apiVersion: apps/v1, kind: Deployment, metadata: {name: p}, spec: {replicas: a}}",
    "{apiVersion: x/y/z, kind: Pod, metadata: {name: p}}",
    "{apiVersion: 5, kind: [a]}",
)
KUBECTL = (
    *("apply -f -", "create -f -", "replace -f -", "delete -f -", "get", "get cm", "get cm a"),
    *("get cm -o json", "get cm -o yaml", "get cm a -o name", "get cm -o jsonpath={.items[99].a}"),
    *(
        "get cm -o jsonpath={range",
        "get cm -o 'jsonpath={.items[?(@.a==b)]}'",
        "get pods/",
        "get /",
    ),
    *(
        "get cm -o jsonpath=",
        "get cm -l a",
        "get cm -l a=b,c!=d",
        "get -A",
        "get cm,pods",
        "get nope",
    ),
    *("label cm a x=y", "label cm a x-", "label cm", "annotate cm a b=c d-", "label cm a '=v'"),
    *("patch cm a -p 5", "patch cm a --type json -p '{}'", "patch cm a --type json -p '[5]'"),
    *("patch cm a --type json -p '[{op: x}]'", "patch cm a --type merge -p '[]'", "patch cm a"),
    *("patch cm a -p 'a: ['", "patch cm a --patch-file missing", "patch cm a --type x -p '{}'"),
    "patch cm a --type merge -p '{metadata: 5}'",
    "patch cm a -p '{data: {$patch: delete}}'",
    *(
        "scale deploy/p --replicas abc",
        "scale deploy/p --replicas ²",
        "scale deploy/p --replicas 2",
    ),
    *("create deployment p --image=i --replicas=x", "create deployment p --image=i", "create ns n"),
    *("create cm c --from-literal=a", "create job j --image=i", "create job j -- a b", "create ns"),
    *("create cronjob c --image=i --schedule='* * * * *'", "create clusterrolebinding b --user=u"),
    *("run r --image=i", "run r", "exec r -- a", "debug r --image=i", "evict r", "wait cm/a"),
    *("wait cm/a --for=delete --timeout=abc", "wait cm/a --for=jsonpath={.a} --timeout=1s", "wait"),
    *("wait cm/a --for=jsonpath={.data[9]}=1 --timeout=1s", "wait cm --all --for=condition=a=b"),
    *("wait cm/a --for=create", "delete cm --all", "delete cm a --timeout=x", "delete cm", "--as"),
    *("get cm --as=system:serviceaccount:", "--kubeconfig=x get cm", "-x", "--", "apply -f"),
    "wait cm/a --for=jsonpath='{.a[?(@.b==c)]}'=1 --timeout=1s",
)


def _commands():
    number, name, text = (st.sampled_from(one) for one in (NUMBERS, NAMES, TEXTS))
    odd = st.one_of(number.map(lambda one: f"'{one}'"), name, text)
    several = st.lists(odd, max_size=4).map(" ".join)
    programs = (
        *("true", "false", ":", "echo", "printf", "test", "[", "cat", "sleep", "rm", "grep", "wc"),
        *("head", "tail", "seq", "tr", "exit", "break", "continue", "export", "set", "unset"),
        *("shift", "sh", "./f", "grep -o", "grep -c", "head -n", "tail -n", "wc -l", "printf %d"),
        *("sort", "cut", "jq", "cd", "eval", "read", "unset -f", "set -e", "set +o", "tr -d"),
        *("awk '$1>0 {print $2 NR}'", "awk", "sort -n -k 2", "mkfifo", "jq -r .a", "trap", "kill"),
        *("kubectl proxy &", "curl -s http://localhost:8001/api/v1/namespaces", "return", "f"),
        *("kyverno apply", "kyverno version", "kubectl rollout status", "trap 'f a' EXIT;"),
    )
    plain = st.builds("{} {}".format, st.sampled_from(programs), several)
    grep = st.builds(
        "echo aaab | grep {} -e_".replace(" -e_", " '{}'").format,
        st.sampled_from(("", "-E", "-F", "-w", "-x", "-o", "-qv", "-Z")),
        st.sampled_from(PATTERNS),
    )
    kubectl = st.builds(
        "echo '{}' | kubectl {}".format, st.sampled_from(MANIFESTS), st.sampled_from(KUBECTL)
    )
    assigned = st.builds("x={}".format, text)
    return st.one_of(plain, grep, kubectl, assigned)


def _larger(inner):
    name = st.sampled_from(NAMES)
    return st.one_of(
        st.builds("{}; {}".format, inner, inner),
        st.builds("{} | {}".format, inner, inner),
        st.builds("{} && {} || true".format, inner, inner),
        st.builds("if {}; then {}; else {}; fi".format, inner, inner, inner),
        st.builds("while {}; do {}; done".format, inner, inner),
        st.builds("for i in a $x $(seq 2000); do {}; done".format, inner),
        st.builds("{{ {}; }} > {}".format, inner, name),
        st.builds("{{ {}; }} >> f 2>&1".format, inner),
        st.builds("({}) < {}".format, inner, name),
        st.builds("x=$({}){}".format, inner, st.sampled_from(("", "$x$x", ' y="$x"'))),
        st.builds("cat <<EOF\n$({})\nEOF\n".format, inner),
        st.builds("! {}".format, inner),
        st.builds("f() {{ {}; }}; f {}".format, inner, name),
    )


SCRIPTS = st.recursive(_commands(), _larger, max_leaves=12)
"""Scripts of any shape."""

LIMITS = ScriptLimits(10_000, 1_000_000)


@pytest.mark.slow
@settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(script=SCRIPTS)
def test_every_script_ends(make_situation, script):
    situation = make_situation()
    situation.session.usage = Usage(LIMITS)
    printed = ""
    try:
        shell = Shell(ShellEnvironment(situation.session), {"NAMESPACE": "default"}, end=120.0)
        result = shell.run(parsed(script))
        printed = result.text(STDOUT) + result.text(STDERR)
    except (UnsupportedError, FailedError, KilledError):
        pass
    assert len(printed) <= LIMITS.characters
    assert sum(map(len, chain(*situation.session.written.values()))) <= LIMITS.characters
    assert "root:" not in printed
