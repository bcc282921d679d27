"""Builders for tests that run whole rules: policies, Pods, and a world where time stands still."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from kyvsim.engine.compile import CompileOptions
from kyvsim.engine.evaluate import evaluate
from kyvsim.engine.world import GivenObjects, World
from kyvsim.jmespath import System
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.languages import READERS, compile_policies
from kyvsim.load.policy import load_exceptions, load_policies
from kyvsim.model.ports import Meter
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.source import Document, Location

sys.path.insert(0, str(Path(__file__).parent))

PODS = {"any": [{"resources": {"kinds": ["Pod"]}}]}


class _Still:
    """A clock that stands and a chance that always takes the last."""

    def now(self):
        return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def below(self, bound):
        return bound - 1


SYSTEM = System(_Still(), _Still(), Meter())


def _document(data):
    return Document(data, "p.yaml", 0, lambda path: Location("p.yaml", 1 + len(path), 1))


def _named(metadata, namespace):
    return {**metadata, **({"namespace": namespace} if namespace else {})}


def _policy(*rules, name="p", namespace="", annotations=None, **spec):
    written = [{"name": "r", "match": PODS, **rule} for rule in rules]
    data = {
        "apiVersion": "kyverno.io/v1",
        "kind": "Policy" if namespace else "ClusterPolicy",
        "metadata": _named({"name": name, "annotations": annotations or {}}, namespace),
        "spec": {"rules": written, **spec},
    }
    (policy,), remarks = load_policies([_document(data)], READERS)
    assert remarks == ()
    return policy


def _exception(policy, *rules, name="x", **spec):
    data = {
        "apiVersion": "kyverno.io/v2",
        "kind": "PolicyException",
        "metadata": {"name": name, "namespace": "ex"},
        "spec": {
            "exceptions": [{"policyName": policy, "ruleNames": list(rules)}],
            "match": PODS,
            **spec,
        },
    }
    found, remarks = load_exceptions([_document(data)])
    assert remarks == ()
    return found.rules[0]


def _thing(kind, name="web", namespace="shop", *, api_version="v1", labels=None, **fields):
    metadata = _named({"name": name, **({"labels": labels} if labels else {})}, namespace)
    obj = {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}
    return with_floats(obj)


def _pod(name="web", namespace="shop", *, labels=None, **spec):
    return _thing("Pod", name, namespace, labels=labels, spec=spec)


def _request(obj, **fields):
    namespace = obj.get("metadata", {}).get("namespace", "")
    return AdmissionRequest(Operation.CREATE, obj, namespace=namespace)._replace(**fields)


def _compiled(*policies, exceptions=(), **options):
    chosen = CompileOptions(SYSTEM, tuple(exceptions), **options)
    compiled, remarks = compile_policies(policies, chosen)
    assert len(compiled.policies) == len(policies), remarks
    return compiled


def _run(policies, obj, *, exceptions=(), given=(), values=None, **request):
    """Evaluate policies on an object; one rule's body stands for a policy of that rule."""
    if isinstance(policies, dict):
        policies = [_policy(policies)]
    world = World(GivenObjects([obj, *given]), values)
    return evaluate(_compiled(*policies, exceptions=exceptions), _request(obj, **request), world)


def _verdicts(response):
    """Return (rule, status, message) of every result, in order."""
    return [
        (result.rule.name, result.status.value, result.message)
        for one in response.responses
        for result in one.results
    ]


def _constant(value):
    # All builders are stateless, so one of each serves the whole session.
    @pytest.fixture(scope="session")
    def fixture():
        return value

    return fixture


system = _constant(SYSTEM)
policy = _constant(_policy)
exception = _constant(_exception)
thing = _constant(_thing)
pod = _constant(_pod)
request_for = _constant(_request)
compiled = _constant(_compiled)
run = _constant(_run)
verdicts = _constant(_verdicts)


@pytest.fixture
def older_release(monkeypatch):
    """Emulate a release that reports no deprecated kinds."""
    monkeypatch.setenv("KYVSIM_KYVERNO", "1.19.0")
