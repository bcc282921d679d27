"""What a difference between releases concerns in a policy."""

from itertools import pairwise

import pytest

from kyvsim.languages import READERS
from kyvsim.linting.release_changes import CHANGES, NOT_IN_POLICIES, changes_between, with_change
from kyvsim.load.documents import STRICT, read_documents
from kyvsim.load.files import Source
from kyvsim.load.policy import is_exception, load_exceptions, load_policies
from kyvsim.model.release import PLANNED, RELEASES, Release

OLD, NEW = RELEASES["1.19.0"], RELEASES["1.19.1"]


def test_every_fact_of_a_release_belongs_to_one_change_or_to_none_on_purpose():
    facts = [fact for one in CHANGES for fact in one.change.facts]
    assert sorted((*facts, *NOT_IN_POLICIES)) == sorted(Release._fields)


@pytest.mark.parametrize("known", CHANGES, ids=lambda one: one.change.facts[0])
def test_a_change_says_what_follows_and_what_to_do(known):
    _, _, text, advice = known.change
    assert text
    assert advice
    assert not text.endswith(".")
    assert not advice.endswith(".")


@pytest.mark.parametrize("known", CHANGES, ids=lambda one: one.change.facts[0])
def test_the_facts_of_a_change_differ_between_two_releases(known):
    pairs = pairwise(RELEASES.values())
    assert any(known in changes_between(old, new) for old, new in pairs)


@pytest.mark.parametrize("release", RELEASES.values(), ids=str)
def test_nothing_changes_without_an_upgrade(release):
    assert [*changes_between(release, release)] == []


def test_all_changes_together_make_the_newer_release():
    release = OLD
    for known in changes_between(OLD, NEW):
        release = with_change(release, NEW, known.change)
    left = {fact for fact in Release._fields if getattr(release, fact) != getattr(NEW, fact)}
    assert left <= NOT_IN_POLICIES


def test_a_planned_release_is_not_supported_yet():
    assert not PLANNED.keys() & RELEASES.keys()


RULE = """
apiVersion: kyverno.io/v1
kind: {kind}
metadata: {{name: p, namespace: {namespace}}}
spec:
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [Task]}}}}]}}
    {part}
    validate: {{message: m, deny: {{}}}}
"""
IMAGE_RULE = """
apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {{name: p}}
spec:
  rules:
  - name: r
    match: {{any: [{{resources: {{kinds: [Task]}}}}]}}
    imageExtractors: {{Task: [{{name: image, path: {path}}}]}}
    verifyImages: [{{imageReferences: ["*"], failureAction: Audit}}]
"""
CEL = """
apiVersion: policies.kyverno.io/v1
kind: {kind}
metadata: {{name: p, namespace: {namespace}}}
spec:
  matchConstraints:
    resourceRules:
    - {{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [{resources}]}}
  {part}
  validations:
  - expression: "{expression}"
"""
PINNED = """
apiVersion: policies.kyverno.io/v1
kind: NamespacedImageValidatingPolicy
metadata: {name: p, namespace: shop}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  matchImageReferences: [{glob: "*"}]
  attestors: []
  validations:
  - expression: "true"
"""
GENERATING = """
apiVersion: policies.kyverno.io/v1
kind: GeneratingPolicy
metadata: {{name: p}}
spec:
  evaluation: {{synchronize: {{enabled: {synchronize}}}}}
  matchConstraints:
    resourceRules:
    - {{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [namespaces]}}
  generate:
  - expression: "generator.Apply('a', [])"
"""
MUTATING = """
apiVersion: policies.kyverno.io/v1
kind: {kind}
metadata: {{name: p, namespace: {namespace}}}
spec:
  matchConstraints: &pods
    resourceRules:
    - {{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [services]}}
  targetMatchConstraints: *pods
  targetMatchConditions: [{{name: c, expression: "{condition}"}}]
  mutations: []
"""
EXCEPTION = """
apiVersion: policies.kyverno.io/v1
kind: PolicyException
metadata: {{name: e, namespace: shop}}
spec:
  policyRefs: [{{name: p, kind: {kind}}}]
  {part}
"""
LEGACY = "reports_loaded_kinds"


def rule(part, kind="ClusterPolicy", namespace='""'):
    return RULE.format(kind=kind, namespace=namespace, part=part)


def local_rule(part):
    return rule(part, "Policy", "shop")


def cel(expression="true", part="", kind="ValidatingPolicy", namespace='""', resources="pods"):
    return CEL.format(
        kind=kind, namespace=namespace, part=part, resources=resources, expression=expression
    )


def local_cel(expression="true", kind="NamespacedValidatingPolicy", resources="services"):
    return cel(expression, kind=kind, namespace="shop", resources=resources)


def service(url):
    return f"context: [{{name: a, apiCall: {{method: GET, service: {{url: '{url}'}}}}}}]"


def api_call(path):
    return f"context: [{{name: a, apiCall: {{urlPath: '{path}'}}}}]"


def extractor(path):
    return IMAGE_RULE.format(path=path)


def condition(expression):
    return f'matchConditions: [{{name: c, expression: "{expression}"}}]'


def generating(synchronize):
    return GENERATING.format(synchronize=synchronize)


def mutating(condition, namespace=""):
    kind = "NamespacedMutatingPolicy" if namespace else "MutatingPolicy"
    return MUTATING.format(kind=kind, namespace=namespace or '""', condition=condition)


def exception(kind, part):
    return EXCEPTION.format(kind=kind, part=part)


GLOBAL = "context: [{name: a, globalReference: {name: g}}]"
CONTROLLERS = "autogen: {{podControllers: {{controllers: [{}]}}}}"
CASES = [
    # A kind of kyverno.io, and nothing else.
    (rule(""), {LEGACY}),
    (local_rule(""), {LEGACY}),
    (rule(GLOBAL), {LEGACY}),
    (local_rule(GLOBAL), {LEGACY, "confines_global_context"}),
    (rule(service("http://127.0.0.1/x")), {LEGACY, "blocked_hosts"}),
    (rule(service("http://localhost:8080/{{ x }}")), {LEGACY, "blocked_hosts"}),
    (rule(service("http://metadata.google.internal/{{ x }}")), {LEGACY, "blocked_hosts"}),
    (rule(service("http://[64:ff9b::a9fe:a9fe]/")), {LEGACY, "blocked_hosts"}),
    (rule(service("http://approval.shop.svc/x")), {LEGACY}),
    (rule(service("http://{{ host }}/x")), {LEGACY}),
    (local_rule(api_call("/api/v1/namespaces/shop/%2e%2e/a")), {LEGACY, "decodes_paths"}),
    (local_rule(api_call("/api/v1/namespaces/shop/pods?labelSelector=a%3Db")), {LEGACY}),
    (rule(api_call("/api/v1/namespaces/shop/%2e%2e/a")), {LEGACY}),
    (extractor("/spec/steps/*/image"), {LEGACY, "skips_scalars_at_wildcards"}),
    (extractor("/spec/image"), {LEGACY}),
    # Expressions.
    (cel(), set()),
    (cel("globalContext.Get('g', '') == ''"), set()),
    (local_cel("globalContext.Get('g', '') == ''"), {"confines_global_context"}),
    (local_cel("object.metadata.name != 'globalContext'"), set()),
    (cel("http.Get('http://[fd00:ec2::254]/') == ''"), {"blocked_hosts"}),
    (cel("http.Get('http://127.0.0.1/') == ''"), set()),
    (cel("image(object.spec.image).tag() == ''"), {"keeps_tags_beside_digests"}),
    (cel("image(object.spec.image).digest() == ''"), set()),
    (cel("json.marshal(object.spec) == ''"), {"marshals_parts"}),
    (cel("json.unmarshal('1') == 1"), set()),
    (cel("this does not parse"), set()),
    (mutating("http.Get('http://a.b/') == null", "shop"), {"searches_all_expressions"}),
    (mutating("http.Get('http://a.b/') == null"), set()),
    (mutating("object.metadata.name == 'http'", "shop"), set()),
    # Variants for controllers.
    (cel(part=CONTROLLERS.format("jobs.v1.example.com")), {"extracts_templates"}),
    (cel(part=CONTROLLERS.format("deployments")), set()),
    (cel(part=CONTROLLERS.format("jobs.v1.example.com"), resources="services"), set()),
    (local_cel(resources="pods"), {"without_variants"}),
    (local_cel(resources="services"), set()),
    (PINNED, {"scans_image_variants"}),
    (PINNED.replace("[pods]", "[services]"), set()),
    (PINNED.replace("spec:", "spec:\n  evaluation: {background: {enabled: false}}"), set()),
    # Generated objects.
    (generating("true"), {"renews_in_place"}),
    (generating("false"), set()),
    # Exceptions.
    (exception("ValidatingPolicy", condition("object.metadata.name == 'a'")), set()),
    (exception("ValidatingPolicy", condition("objet == 'a'")), {"compiles_exceptions"}),
    (
        exception("ValidatingPolicy", condition("globalContext.Get('a', '') == ''")),
        {"compiles_exceptions"},
    ),
    (exception("ValidatingPolicy", "images: [a]"), set()),
    (exception("ImageValidatingPolicy", "images: [a]"), {"counts_partial_exceptions"}),
    (exception("ImageValidatingPolicy", "reportResult: skip"), {"exempts_variants"}),
]


@pytest.mark.parametrize(("text", "facts"), CASES)
def test_the_changes_that_concern_a_policy(text, facts):
    (document,), _ = read_documents([Source("p.yaml", text)], None, STRICT)
    if is_exception(document.data):
        exceptions, remarks = load_exceptions([document])
        (subject,) = (*exceptions.rules, *exceptions.policies)
    else:
        (subject,), remarks = load_policies([document], READERS)
    assert remarks == ()
    found = {
        known.change.facts[0]: [*known.concerned(subject, OLD, NEW)]
        for known in changes_between(OLD, NEW)
    }
    assert {fact for fact, places in found.items() if places} == facts
    assert all(place.line for places in found.values() for place in places)
