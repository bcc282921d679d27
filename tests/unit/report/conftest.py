"""A menagerie: one run with every status, a mutated object, a patched target, generated objects."""

from itertools import zip_longest

import pytest

from kyvsim.api.apply import counted_responses
from kyvsim.languages.classic.rule_type import policy_facts, rule_of
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy
from kyvsim.model.result import (
    EngineResponse,
    PatchedTarget,
    Phase,
    PolicyResponse,
    RuleResult,
    RuleStatus,
)
from kyvsim.model.source import Document, Location
from kyvsim.policy.rule import read_policy
from kyvsim.report.run import ResultCounts, Run


def make_document(data, file):
    return Document(data, file, 0, lambda path: Location(file, 1 + len(path), 3))


def make_policy(name, *rules, annotations=None, namespace="", **spec):
    kind = "Policy" if namespace else "ClusterPolicy"
    written, tree = spec.get("rules") or [{}] * len(rules), read_policy(spec, ("spec",))
    made = tuple(
        rule_of({**data, "name": rule}, ("spec", "rules", i), tree)
        for i, (rule, data) in enumerate(zip_longest(rules, written, fillvalue=rules[0]))
    )
    document = make_document({"kind": kind}, f"{name}.yaml")
    return Policy(
        kind, name, namespace, annotations or {}, spec, made, document, policy_facts(tree, ())
    )


def make_pod(name, **spec):
    meta = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}


def make_config_map(name):
    meta = {"name": name, "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"port": "80"}}


@pytest.fixture
def make():
    """The makers above, for tests that need a case of their own."""

    class Makers:
        document = staticmethod(make_document)
        policy = staticmethod(make_policy)
        pod = staticmethod(make_pod)
        config_map = staticmethod(make_config_map)

        @staticmethod
        def run(responses, **fields):
            basics = {"resource_count": 1, "rule_count": 1, "exception_count": 0}
            known = {
                "policies": (),
                "diagnostics": (),
                "result_counts": ResultCounts(),
                **basics,
                **fields,
            }
            return Run(responses=counted_responses(responses, known["result_counts"]), **known)

        @staticmethod
        def result(policy, phase, status, message="", **fields):
            return RuleResult(policy.rules[0], phase, status, message, **fields)

    return Makers


@pytest.fixture
def menagerie(make):
    """A function that makes the run anew: responses can be read once."""

    def run(**fields):
        return make.run(
            _responses(make),
            policies=(
                make.policy("checks", "image"),
                make.policy("own", "local", namespace="shop"),
            ),
            resource_count=2,
            rule_count=7,
            diagnostics=(
                Diagnostic(
                    "KV012", Severity.ERROR, "unknown field `matsch`", Location("p.yaml", 3, 5)
                ),
            ),
            **fields,
        )

    return run


def _responses(make):
    inject = make.policy("inject", "add-volume")
    checks = make.policy("checks", "image", annotations={"policies.kyverno.io/severity": "high"})
    advice = make.policy("advice", "label", annotations={"policies.kyverno.io/scored": "false"})
    own = make.policy("own", "local", namespace="shop")
    creates = make.policy("creates", "config")
    before = make.pod("web", priority=10.0)
    volumes = [
        {"name": "config", "configMap": {"name": "web-config"}},
        {"name": "tls", "secret": {"secretName": "web-tls"}},
    ]
    after = make.pod("web", priority=10, volumes=volumes)
    target = make.config_map("counter")
    patched = {**target, "data": {"port": "81"}}
    one = make.result
    mutated = one(
        inject,
        Phase.MUTATE,
        RuleStatus.PASS,
        "mutated Pod/web in namespace shop",
        targets=(PatchedTarget(patched, changed=True, before=target),),
    )
    failed = one(
        checks,
        Phase.VALIDATE,
        RuleStatus.FAIL,
        "tag \x1b[31mneeded\nsee [docs]",
        path="/spec/priority/",
    )
    yield EngineResponse(
        before,
        after,
        (
            PolicyResponse(inject, Phase.MUTATE, after, (mutated,), changed=True),
            PolicyResponse(checks, Phase.VALIDATE, after, (failed,)),
            PolicyResponse(
                advice,
                Phase.VALIDATE,
                after,
                (one(advice, Phase.VALIDATE, RuleStatus.FAIL, "no label"),),
            ),
            PolicyResponse(
                own,
                Phase.VALIDATE,
                after,
                (one(own, Phase.VALIDATE, RuleStatus.ERROR, "no such key"),),
            ),
            PolicyResponse(
                creates,
                Phase.GENERATE,
                after,
                (
                    one(
                        creates,
                        Phase.GENERATE,
                        RuleStatus.PASS,
                        generated=(make.config_map("web-config"),),
                    ),
                ),
            ),
        ),
        make.document(before, "pods.yaml"),
    )
    calm = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "calm"}}
    skipped = one(checks, Phase.VALIDATE, RuleStatus.SKIP, "preconditions not met")
    yield EngineResponse(calm, calm, (PolicyResponse(checks, Phase.VALIDATE, calm, (skipped,)),))
