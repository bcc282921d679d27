"""One finding, one place: every format of `apply` names the same rule, message, line and column."""

import csv
import html
import io
import json
import re
from xml.etree import ElementTree as ET

import pytest
import yaml

from kyvsim.api import ApplyInputs, apply, explain_rows, open_application
from kyvsim.api.apply import render_document, render_run
from kyvsim.load.files import Source
from kyvsim.report.formats import RUN_FORMATS as FORMATS
from kyvsim.report.style import RenderOptions, Show

POLICIES = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata:
  name: classic
  annotations: {policies.kyverno.io/documentation: "https://wiki.example.com/classic"}
spec:
  background: false
  rules:
    - name: memory-limit
      match: &pods {any: [{resources: {kinds: [Pod]}}]}
      validate:
        message: a limit is needed
        pattern: {spec: {containers: [{resources: {limits: {memory: "?*"}}}]}}
    - name: team-label
      match: *pods
      validate:
        message: a team is needed
        pattern: {metadata: {labels: {example.com/team: "a?*"}}}
    - name: either
      match: *pods
      validate:
        message: neither fits
        anyPattern:
          - spec: {hostNetwork: false}
          - spec: {containers: [{image: "!*:latest"}]}
    - name: no-host-network
      match: *pods
      validate:
        message: "{{ request.object.metadata.name }} uses the network of the host"
        deny:
          conditions:
            any:
              - key: "{{ request.object.spec.hostNetwork || `false` }}"
                operator: Equals
                value: true
    - name: no-latest
      match: *pods
      validate:
        message: no latest
        foreach:
          - list: request.object.spec.containers
            deny:
              conditions:
                any: [{key: "{{ element.image }}", operator: Equals, value: "nginx:latest"}]
    - name: named-ports
      match: *pods
      validate:
        message: a port needs a name
        foreach:
          - list: request.object.spec.containers
            foreach:
              - list: element.ports
                deny:
                  conditions:
                    any: [{key: "{{ element.name || '' }}", operator: Equals, value: ""}]
    - name: restricted
      match: *pods
      validate:
        podSecurity: {level: baseline, version: latest}
    - name: cel
      match: *pods
      validate:
        cel:
          expressions:
            - expression: "!has(object.spec.hostNetwork) || !object.spec.hostNetwork"
              message: no host network
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: others}
spec:
  background: false
  rules:
    - name: labelled-volumes
      match: {any: [{resources: {kinds: [StatefulSet]}}]}
      validate:
        message: a claim needs a team
        foreach:
          - list: request.object.spec.volumeClaimTemplates
            pattern: {metadata: {labels: {team: "?*"}}}
    - name: unknown-variable
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      mutate:
        patchStrategicMerge: {metadata: {labels: {x: "{{ request.object.data.missing }}"}}}
    - name: bad-generate
      match: {any: [{resources: {kinds: [ConfigMap]}}]}
      preconditions:
        all: [{key: "{{ request.object.data.missing }}", operator: Equals, value: a}]
      generate:
        apiVersion: v1
        kind: ConfigMap
        namespace: shop
        name: made
        data: {data: {a: "{{ request.object.data.missing }}"}}
---
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: images}
spec:
  background: false
  rules:
    - name: signed
      match: {any: [{resources: {kinds: [Pod]}}]}
      verifyImages:
        - imageReferences: ["*"]
          mutateDigest: false
          attestors: [{entries: [{keys: {publicKeys: not-a-key}}]}]
---
apiVersion: policies.kyverno.io/v1
kind: ValidatingPolicy
metadata: {name: in-cel}
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
    - expression: object.spec.containers.all(c, c.image != "nginx:latest")
      message: no latest, says CEL
"""

POD = """apiVersion: v1
kind: Pod
metadata:
  name: web
  namespace: shop
  labels:
    example.com/team: b
spec:
  hostNetwork: true
  containers:
  - name: a
    image: nginx:1.0
    resources: {limits: {memory: 1Mi}}
  - name: b
    image: nginx:latest
    ports:
    - {name: http, containerPort: 80}
    - {containerPort: 81}
"""
STATEFUL_SET = """apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: shop, labels: {team: a}}
spec:
  volumeClaimTemplates:
  - metadata:
      name: data
      labels: {a: b}
"""
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "api", "namespace": "shop"},
    "spec": {"template": yaml.safe_load(POD.replace("name: web", "name: t"))},
}
CRON_JOB = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "nightly", "namespace": "shop"},
    "spec": {"jobTemplate": {"spec": {"template": yaml.safe_load(POD)}}},
}
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: shop}\n"
REVIEW = {
    "apiVersion": "admission.k8s.io/v1",
    "kind": "AdmissionReview",
    "request": {
        "uid": "1",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "CREATE",
        "name": "web",
        "namespace": "shop",
        "object": yaml.safe_load(POD),
    },
}
RESOURCES = {
    "documents.yaml": f"# two documents\n{CONFIG_MAP}---\n{POD}---\n{STATEFUL_SET}",
    "one-line.json": json.dumps(DEPLOYMENT),
    "list.yaml": yaml.safe_dump(
        {"apiVersion": "v1", "kind": "List", "items": [CRON_JOB, yaml.safe_load(POD)]}
    ),
    "indented-list.json": json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [DEPLOYMENT]}, indent=2
    ),
    "review.json": json.dumps(REVIEW, indent=1),
}
FAULTS = {"fail", "error", "warn"}


def opened(**resources):
    found = resources or RESOURCES
    return open_application(
        ApplyInputs(
            policies=(Source("policies.yaml", POLICIES),),
            resources=tuple(Source(name, text) for name, text in found.items()),
        )
    )


def shown(name, **look):
    return "".join(render_document(FORMATS[name].write, opened(), RenderOptions(**look)))


@pytest.fixture(scope="module")
def expected():
    """The findings as the JSON document has them."""
    found = json.loads(shown("json"))
    assert {one["code"] for one in found["diagnostics"] if one["severity"] == "error"} == set()
    return sorted(
        (*one["location"].values(), one["policy"], one["rule"], one["message"])
        for one in found["results"]
        if one["result"] in FAULTS
    )


def test_the_menagerie_has_failures_of_every_kind(expected):
    rules = {rule for *_, rule, _ in expected}
    written_rules = [
        rule["name"]
        for doc in yaml.safe_load_all(POLICIES)
        for rule in doc["spec"].get("rules", ())
    ]
    assert set(written_rules) | {""} <= rules
    assert {"autogen-memory-limit", "autogen-cronjob-no-host-network"} <= rules
    assert {file for file, *_ in expected} == set(RESOURCES)


@pytest.mark.parametrize(
    ("rule", "line", "column"),
    [
        ("memory-limit", 19, 5),
        ("team-label", 12, 5),
        ("either", 20, 5),
        ("no-host-network", 14, 3),
        ("no-latest", 20, 5),
        ("named-ports", 23, 7),
        ("restricted", 14, 3),
        ("cel", 14, 3),
        ("", 15, 3),
        ("signed", 17, 5),
        ("labelled-volumes", 32, 7),
    ],
)
def test_a_failure_is_at_its_field(expected, rule, line, column):
    places = [one[1:3] for one in expected if one[0] == "documents.yaml" and one[4] == rule]
    assert (line, column) in places


def from_csv():
    for row in csv.DictReader(io.StringIO(shown("csv"), newline="")):
        if row["result"] in FAULTS:
            place = row["file"], int(row["line"]), int(row["column"])
            yield (*place, row["policy"], row["rule"], row["message"].removeprefix("'"))


def from_sarif():
    (run,) = json.loads(shown("sarif"))["runs"]
    for one in run["results"]:
        if one["kind"] == "fail":
            physical = one["locations"][0]["physicalLocation"]
            region = physical["region"]
            assert (region["endLine"], region["endColumn"]) > (
                region["startLine"],
                region["startColumn"],
            )
            policy, _, rule = one["ruleId"].partition("/")
            place = physical["artifactLocation"]["uri"], region["startLine"], region["startColumn"]
            yield (*place, policy, rule, without_title(one["message"]["text"]))


def from_github():
    for line in shown("github").splitlines():
        found = re.fullmatch(
            r"::error file=([^,]*),line=(\d+),col=(\d+),endLine=(\d+),endColumn=(\d+),"
            r"title=([^:]*)::(.*)",
            line,
        )
        if found:
            file, row, column, _, _, title, text = found.groups()
            text = text.replace("%0A", "\n").replace("%0D", "\r").replace("%25", "%")
            said = without_title(text.rpartition("\nrule: ")[0])
            yield (file, int(row), int(column), *named(title), said)


def from_junit():
    for case in ET.fromstring(shown("junit")).iter("testcase"):
        for bad in (*case.findall("failure"), *case.findall("error")):
            at = re.search(r"\nat (.*):(\d+):(\d+)\nrule: ", bad.text)
            name = case.get("name")
            policy = case.get("classname")
            place = at[1], int(at[2]), int(at[3])
            yield (*place, policy, "" if name == policy else name, bad.get("message"))


def from_markdown():
    def unescape(text):
        return html.unescape(re.sub(r"\\(.)", r"\1", text))

    for line in shown("markdown").splitlines():
        cells = re.split(r"(?<!\\) \| ", line.strip().removeprefix("| ").removesuffix(" |"))
        if len(cells) == 4 and cells[0] in FAULTS:
            place = unescape(cells[1].split("<br>")[1]).rsplit(":", 2)
            name = unescape(cells[2].split("<br>")[0])
            said = unescape(cells[3].replace("<br>", "\n"))
            yield (place[0], int(place[1]), int(place[2]), *named(name), said)


def named(title):
    policy, _, rule = title.partition(" / ")
    return policy, rule


def without_title(text):
    return text.partition(": ")[2]


def without_notes(found):
    """Return findings without the notes that follow messages in formats for people."""
    return sorted((*one[:-1], one[-1].partition("\n")[0]) for one in found)


@pytest.mark.parametrize("read", [from_csv, from_sarif, from_github, from_junit, from_markdown])
def test_formats_have_the_same_findings(expected, read):
    assert without_notes(read()) == without_notes(expected)


def test_gitlab_has_the_same_lines(expected):
    found = [
        (one["location"]["path"], one["location"]["lines"]["begin"], one["check_name"])
        for one in json.loads(shown("gitlab"))
        if one["severity"] != "info" and not one["check_name"].startswith("KV")
    ]
    assert sorted(found) == sorted(
        (file, line, "/".join(filter(None, (policy, rule))))
        for file, line, _, policy, rule, _ in expected
    )


def test_the_page_has_the_same_places_names_and_messages(expected):
    text = html.unescape(re.sub(r"<[^>]*>", " ", shown("html")))
    squeezed = " ".join(text.split())
    for file, line, column, policy, rule, message in expected:
        assert f"{file}:{line}:{column}" in squeezed
        assert " / ".join(filter(None, (policy, rule))) in squeezed
        assert " ".join(message.split()) in squeezed


def test_the_view_for_people_has_the_same_findings(expected):
    """A failure of the whole object has the place of the heading."""
    text = shown("text", show=Show.ALL, width=10_000)
    found = []
    for block in text.split("\n\n"):
        heading, *lines = block.split("\n")
        object_place = re.search(r" (\S+:\d+:\d+)$", heading)
        for number, line in enumerate(lines):
            start = re.match(r"  (?:FAIL|ERROR|WARN)  (\S.*)", line)
            if not start or not object_place:
                continue
            below = []
            for one in lines[number + 1 :]:
                if not one.startswith("      "):
                    break
                below.append(one.strip())
            places = [one for one in below if re.fullmatch(r"\S+:\d+:\d+", one)]
            file, row, column = (places[0] if places else object_place[1]).rsplit(":", 2)
            found.append((file, int(row), int(column), *named(start[1].strip()), below[0]))
    assert without_notes(found) == without_notes(expected)


def test_several_formats_of_one_run_explain_a_failure_once(monkeypatch):
    explained = []
    original = explain_rows.compile_explain

    def counting(*given):
        explain = original(*given)

        def counted(response, row):
            explained.append((row.policy.key, row.result.rule.name, row.result.message))
            return explain(response, row)

        return counted

    monkeypatch.setattr(apply, "compile_explain", counting)
    names = ("json", "sarif", "csv", "github")
    alone = shown("sarif")
    once = sorted(explained)
    explained.clear()
    run = opened()
    pieces = render_run(run, [FORMATS[name].write(run, RenderOptions()) for name in names])
    assert "".join(piece for index, piece in pieces if names[index] == "sarif") == alone
    assert sorted(explained) == once


def test_rules_in_sarif_have_one_id_and_an_address():
    (run,) = json.loads(shown("sarif"))["runs"]
    rules = {one["id"]: one["helpUri"] for one in run["tool"]["driver"]["rules"]}
    assert len(rules) == len(run["tool"]["driver"]["rules"])
    assert rules["classic/memory-limit"] == "https://wiki.example.com/classic"
    assert rules["in-cel"] == "https://kyverno.io/docs/policy-types/validating-policy/"
    assert rules["images/signed"] == "https://kyverno.io/docs/policy-types/cluster-policy/"
