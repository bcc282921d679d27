"""`kyvsim diff`, as it is typed."""

import json
from pathlib import Path

import jsonschema
import pytest

from kyvsim.cli import main
from kyvsim.load import documents

ROOT = Path(__file__).parents[3]
SCHEMA = json.loads((ROOT / "docs/output.schema.json").read_text(encoding="utf-8"))
RULE = """\
  - name: %s
    match: {any: [{resources: {kinds: [%s]}}]}
"""
DENY = """\
    validate:
      message: "%s"
      deny: {conditions: {all: [{key: "%s", operator: Equals, value: a}]}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop}
spec: {containers: [{name: a, image: "nginx:latest"}]}
"""


def policy(name, *rules):
    head = "apiVersion: kyverno.io/v1\nkind: ClusterPolicy\nmetadata: {name: %s}\nspec:\n  rules:\n"
    return head % name + "".join(rules)


def judging(name, verdict, kind="Pod", message="no"):
    """Return a rule that passes or fails whatever it looks at."""
    return RULE % (name, kind) + DENY % (message, "a" if verdict == "fail" else "b")


def labelling(name, value):
    patch = f"{{metadata: {{labels: {{tier: {value}}}}}}}"
    return RULE % (name, "Pod") + f"    mutate: {{patchStrategicMerge: {patch}}}\n"


def generating(name, value, target="made", synchronize="false"):
    made = f"apiVersion: v1, kind: ConfigMap, name: {target}, namespace: shop"
    data = f"synchronize: {synchronize}, data: {{data: {{a: {value}}}}}"
    return RULE % (name, "Pod") + f"    generate: {{{made}, {data}}}\n"


@pytest.fixture
def diff(tmp_path, monkeypatch, capfdbinary):
    """A function that compares two policies over a Pod: status, document."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.yaml").write_text(POD)

    def run(old, new, *options):
        (tmp_path / "old.yaml").write_text(old)
        (tmp_path / "new.yaml").write_text(new)
        status = main.run(
            ["diff", "old.yaml", "new.yaml", "-r", "r.yaml", "--output-format", "json", *options]
        )
        document = json.loads(capfdbinary.readouterr().out)
        jsonschema.Draft7Validator.check_schema(SCHEMA)
        jsonschema.Draft7Validator(SCHEMA).validate(document)
        return status, document

    return run


def verdicts(document):
    return [
        (
            one["rule"],
            (one["old"] or {}).get("result"),
            (one["new"] or {}).get("result"),
            one["direction"],
            one["missing"],
        )
        for resource in document["resources"]
        for one in resource["verdicts"]
    ]


@pytest.mark.parametrize(
    ("old", "new", "wanted"),
    [
        ("pass", "fail", ("r", "pass", "fail", "stricter", None)),
        ("fail", "pass", ("r", "fail", "pass", "laxer", None)),
    ],
)
def test_verdicts_that_differ_are_told(diff, old, new, wanted):
    status, document = diff(policy("p", judging("r", old)), policy("p", judging("r", new)))
    assert status == 1
    assert verdicts(document) == [wanted]
    assert document["summary"]["verdicts"] == 1
    assert document["ending"]["verdict"] == "DIFFERENT"


def test_both_places_of_a_rule_and_that_in_the_manifest_are_told(diff):
    pattern = '    validate: {message: m, pattern: {spec: {containers: [{image: "%s"}]}}}\n'
    rule = RULE % ("r", "Pod")
    _, document = diff(
        policy("p", rule + pattern % "*"), "# moved\n" + policy("p", rule + pattern % "!*:latest")
    )
    (verdict,) = document["resources"][0]["verdicts"]
    assert verdict["old"]["ruleLocation"] == {"file": "old.yaml", "line": 6, "column": 5}
    assert verdict["new"]["ruleLocation"] == {"file": "new.yaml", "line": 7, "column": 5}
    assert verdict["new"]["location"] == {"file": "r.yaml", "line": 4, "column": 31}
    assert document["resources"][0]["location"] == {"file": "r.yaml", "line": 1, "column": 1}


@pytest.mark.parametrize(
    ("new", "missing"),
    [
        (policy("q", judging("r", "pass")), "policy"),
        (policy("p", judging("other", "pass")), "rule"),
        (policy("p", judging("r", "pass", kind="Service"), judging("s", "pass")), "match"),
    ],
)
def test_why_a_set_says_nothing_is_told(diff, new, missing):
    status, document = diff(policy("p", judging("r", "fail")), new)
    assert status == 1
    assert verdicts(document)[0] == ("r", "fail", None, "laxer", missing)


def test_sets_that_say_and_do_the_same_are_the_same(diff):
    rules = (judging("r", "fail"), labelling("l", "a"), generating("g", "a"))
    status, document = diff(policy("p", *rules), "# moved\n\n" + policy("p", *rules))
    assert status == 0
    assert document["resources"] == []
    assert document["ending"]["verdict"] == "SAME"
    assert document["ending"]["counts"]["same"] == 3


def test_other_words_are_counted_and_are_a_difference_where_that_is_asked(diff):
    old, new = (policy("p", judging("r", "fail", message=one)) for one in ("no", "never"))
    status, document = diff(old, new)
    assert (status, document["ending"]["counts"]["reworded"]) == (0, 1)
    status, document = diff(old, new, "--messages")
    assert status == 1
    assert verdicts(document) == [("r", "fail", "fail", "neither", None)]


def test_mutated_objects_that_differ_are_told_with_those_who_did_it(diff):
    status, document = diff(policy("p", labelling("l", "a")), policy("q", labelling("l", "b")))
    assert status == 1
    (one,) = document["resources"][0]["mutated"]
    assert [one[side]["object"]["metadata"]["labels"] for side in ("old", "new")] == [
        {"tier": "a"},
        {"tier": "b"},
    ]
    assert one["old"]["by"] == [
        {
            "policy": "p",
            "rule": "l",
            "ruleLocation": {"file": "old.yaml", "line": 6, "column": 5},
        }
    ]
    assert document["summary"]["mutated"] == 1


def test_who_changes_the_same_is_no_difference_in_objects(diff):
    _, document = diff(policy("p", labelling("l", "a")), policy("q", labelling("l", "a")))
    assert document["summary"]["mutated"] == 0


@pytest.mark.parametrize(
    ("old", "new", "sides"),
    [
        (generating("g", "a"), generating("g", "b"), [("a", "b")]),
        (generating("g", "a"), generating("g", "a", target="x"), [("a", None), (None, "a")]),
        (generating("g", "a"), generating("g", "a", synchronize="true"), [("a", "a")]),
        (generating("g", "a"), judging("g", "pass"), [("a", None)]),
    ],
)
def test_generated_objects_that_differ_are_told(diff, old, new, sides):
    status, document = diff(policy("p", old), policy("p", new))
    assert status == 1
    found = [
        tuple(one[side]["object"]["data"]["a"] if one[side] else None for side in ("old", "new"))
        for one in document["resources"][0]["generated"]
    ]
    assert found == sides
    assert document["summary"]["generated"] == len(sides)


def test_rules_that_matched_nothing_are_not_called_the_same(diff):
    rules = judging("r", "pass"), judging("s", "pass", kind="Service")
    status, document = diff(policy("p", *rules), policy("p", rules[0]))
    assert status == 0
    assert document["notCompared"]["rules"] == [
        {
            "policy": "p",
            "rule": "s",
            "old": {"file": "old.yaml", "line": 11, "column": 5},
            "new": None,
        }
    ]
    status, document = diff(policy("p", rules[1]), policy("p", rules[1]))
    assert status == 0
    assert document["ending"]["verdict"] == "NOTHING CHECKED"
    assert [one["name"] for one in document["notCompared"]["resources"]] == ["web"]


def test_a_rule_that_one_set_looks_at_is_compared(diff):
    old, new = (policy("p", judging("r", "pass", kind=kind)) for kind in ("Pod", "Service"))
    status, document = diff(old, new)
    assert status == 1
    assert document["notCompared"]["rules"] == []


def test_derived_rules_are_compared_as_what_they_are(diff, tmp_path):
    pod = POD.replace("kind: Pod", "kind: Deployment").replace("v1", "apps/v1")
    spec = '{template: {spec: {containers: [{name: a, image: "a"}]}}}'
    (tmp_path / "r.yaml").write_text(f"{pod.partition('spec')[0]}spec: {spec}\n")
    pattern = '    validate: {message: m, pattern: {spec: {containers: [{image: "%s"}]}}}\n'
    rule = RULE % ("r", "Pod")
    _, document = diff(policy("p", rule + pattern % "*"), policy("p", rule + pattern % "b"))
    assert verdicts(document) == [("autogen-r", "pass", "fail", "stricter", None)]
    assert document["notCompared"]["rules"] == []
    _, document = diff(policy("p", rule + pattern % "*"), policy("p", judging("r", "pass", "Job")))
    assert verdicts(document) == [("autogen-r", "pass", None, "neither", "match")]


def test_what_cannot_be_used_wins(diff):
    status, document = diff(policy("p", judging("r", "pass")), "a: [")
    assert status == 2
    assert "KV006" in [one["code"] for one in document["diagnostics"]]
    status, _ = diff(
        policy("p", judging("r", "pass")), policy("p", judging("r", "pass")), "-f", "x"
    )
    assert status == 2


def test_remarks_on_what_both_read_are_told_once(diff, tmp_path, capfdbinary):
    (tmp_path / "r.yaml").write_text(f"{POD}---\na: [\n")
    status, document = diff(*[policy("p", judging("r", "pass"))] * 2)
    assert status == 2
    assert [one["code"] for one in document["diagnostics"]].count("KV006") == 1
    del capfdbinary


def test_strictly_warnings_are_errors(diff):
    rules = judging("s", "pass", kind="Service")
    assert diff(policy("p", rules), policy("p", rules))[0] == 0
    status, document = diff(policy("p", rules), policy("p", rules), "--strict")
    assert status == 2
    assert document["diagnostics"][0]["severity"] == "error"


def test_formats_go_to_files(diff, tmp_path):
    old, new = (policy("p", judging("r", one)) for one in ("pass", "fail"))
    diff(old, new, "--output-format", "text=a.txt", "--output-format", "markdown=a.md")
    assert "pass → fail  p / r" in (tmp_path / "a.txt").read_text()
    assert (tmp_path / "a.txt").read_text().splitlines()[-1].startswith("DIFFERENT: 1 result")
    assert "| pass → fail |" in (tmp_path / "a.md").read_text()


def test_one_set_is_compared_with_itself_as_supposed(tmp_path, monkeypatch, kyvsim):
    monkeypatch.chdir(tmp_path)
    rule = RULE % ("r", "Pod")
    deletion = rule.replace("kinds: [Pod]", "kinds: [Pod], operations: [DELETE]")
    (tmp_path / "p.yaml").write_text(policy("p", deletion + "    validate: {deny: {}}\n"))
    (tmp_path / "r.yaml").write_text(POD)
    status, out, _ = kyvsim("diff", "p.yaml", "-r", "r.yaml", "--operation", "DELETE")
    assert status == 1
    assert "none → fail  p / r" in out
    assert "old does not match" in out
    both = kyvsim("diff", "p.yaml", "p.yaml", "-r", "r.yaml", "--operation", "DELETE")
    assert both[0] == 0
    assert both[1].splitlines()[-1].startswith("SAME")


EXCEPTION = """\
apiVersion: kyverno.io/v2
kind: PolicyException
metadata: {name: %s, namespace: shop}
spec:
  exceptions: [{policyName: p, ruleNames: [%s]}]
  match: {any: [{resources: {kinds: [Pod], names: ["%s"]}}]}
---
"""


@pytest.mark.parametrize(
    ("left_out", "wanted"),
    [
        (
            "*",
            {
                "shop/needed": [{"old": "skip", "new": "fail", "count": 1}],
                "shop/wide": [{"old": "skip", "new": "pass", "count": 1}],
                "shop/unused": [],
            },
        ),
        ("wide", {"shop/wide": [{"old": "skip", "new": "pass", "count": 1}]}),
        ("unused", {"shop/unused": []}),
    ],
)
def test_exceptions_that_are_left_out_say_what_they_let_off(
    tmp_path, monkeypatch, kyvsim, left_out, wanted
):
    monkeypatch.chdir(tmp_path)
    rules = policy("p", judging("bad", "fail"), judging("good", "pass"))
    given = [("needed", "bad", "web"), ("wide", "good", "w*"), ("unused", "bad", "other")]
    exceptions = "".join(EXCEPTION % some for some in given)
    for name, text in (("p", rules), ("r", POD), ("e", exceptions)):
        (tmp_path / f"{name}.yaml").write_text(text)
    line = ["p.yaml", "-r", "r.yaml", "-e", "e.yaml", "--without-exception", left_out]
    status, out, _ = kyvsim("diff", *line, "--output-format", "json")
    document = json.loads(out)
    jsonschema.Draft7Validator(SCHEMA).validate(document)
    assert status == int(any(wanted.values()))
    assert {one["exception"]: one["changes"] for one in document["exceptions"]} == wanted
    shown = kyvsim("diff", *line, "--output-format", "markdown")[1]
    assert [one in shown for one in wanted] == [True] * len(wanted)


def test_exceptions_that_count_in_both_sets_are_not_told_of(diff, tmp_path):
    (tmp_path / "e.yaml").write_text(EXCEPTION % ("kept", "bad", "web"))
    old, new = (policy("p", judging("bad", "fail", message=text)) for text in "ab")
    assert diff(old, new, "-e", "e.yaml")[1]["exceptions"] == []


def test_resources_are_read_once_for_both_sets(diff, monkeypatch):
    read, parse = [], documents.parse_documents

    def counted(source, *given):
        read.append(source.name)
        return parse(source, *given)

    monkeypatch.setattr(documents, "parse_documents", counted)
    diff(policy("p", judging("a", "pass")), policy("p", judging("a", "fail")))
    assert sorted(read) == ["new.yaml", "old.yaml", "r.yaml"]


def test_both_sets_see_the_same_time(diff):
    rule = RULE % ("r", "Pod") + '    validate: {message: "{{ time_now() }}", deny: {}}\n'
    assert diff(policy("p", rule), policy("p", rule), "--messages")[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["diff", "-r", "r"], "no policy given"),
        (["diff", "a", "b"], "no resource given"),
        (["diff", "a", "-r", "r"], "nothing to compare"),
        (["diff", "a", "b", "c", "-r", "r"], "3 policy sets"),
        (["diff", "a", "b", "-r", "r", "--output-format", "sarif"], "choose from text, json"),
        (["diff", "a", "b", "-r", "r", "--cluster"], "no cluster is queried"),
        (["diff", "a", "b", "-r", "r", "--output-format", "json=no/x"], "cannot write to no/x"),
    ],
)
def test_bad_usage_is_explained(kyvsim, arguments, message):
    status, out, err = kyvsim(*arguments)
    assert (status, out) == (2, "")
    assert message in err


@pytest.mark.parametrize("name", ["json", "hostile"])
def test_golden_documents_keep_the_schema(name, kyvsim, monkeypatch):
    monkeypatch.chdir(ROOT)
    command = (ROOT / f"tests/golden/diff/{name}/cmd").read_text().split("\n")[1].split()
    options = [] if "--output-format" in command else ["--output-format", "json"]
    document = json.loads(kyvsim(*command[1:], *options)[1])
    jsonschema.Draft7Validator(SCHEMA).validate(document)
    assert document["resources"]


def test_a_menagerie_is_the_same_as_itself(kyvsim, monkeypatch):
    monkeypatch.chdir(ROOT)
    folder = "fixtures/menagerie"
    policies = f"{folder}/policies.yaml,{folder}/kinds.yaml"
    options = ("-r", f"{folder}/resources.yaml", "-f", f"{folder}/values.yaml", "--messages")
    status, out, _ = kyvsim("diff", policies, policies, *options)
    assert out.splitlines()[-1].startswith("SAME: ")
    assert status == 0


def test_a_path_with_a_comma_stands_in_quotes(tmp_path, kyvsim, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a,b.yaml").write_text(policy("p", judging("r", "pass")))
    (tmp_path / "r.yaml").write_text(POD)
    assert kyvsim("diff", '"a,b.yaml"', '"a,b.yaml"', "-r", "r.yaml")[0] == 0
