"""A run made by hand in place of the engine's, and the program called in this process."""

import pytest

from kyvsim.api.apply import Application, counted_responses
from kyvsim.cli import apply, main
from kyvsim.model.policy import Policy, PolicyFacts, Rule, RuleFacts
from kyvsim.model.result import EngineResponse, Phase, PolicyResponse, RuleResult, RuleStatus
from kyvsim.model.source import Document, Location
from kyvsim.report.run import ResultCounts, Run


def make_response(status, name="web", created=(), changed=False):
    data = {"kind": "ClusterPolicy"}
    document = Document(data, "p.yaml", 0, lambda _path: Location("p.yaml", 7, 5))
    rule = Rule("check", {}, ("spec", "rules", 0), RuleFacts())
    policy = Policy(
        "ClusterPolicy", "guard", "", {}, {}, (rule,), document, PolicyFacts("kyverno.io/v1")
    )
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "shop"}}
    after = {**pod, "spec": {"hostNetwork": False}} if changed else pod
    phase = Phase.MUTATE if changed else Phase.GENERATE if created else Phase.VALIDATE
    result = RuleResult(rule, phase, status, "no tag", generated=tuple(created))
    return EngineResponse(pod, after, (PolicyResponse(policy, phase, after, (result,), changed),))


@pytest.fixture
def respond():
    """A function that makes a response of one rule."""
    return make_response


@pytest.fixture
def calls():
    """The inputs with which the engine was called."""
    return []


@pytest.fixture
def engine(monkeypatch, calls):
    """A function that sets what the engine answers."""

    def answer(*responses, diagnostics=()):
        def opened(inputs, stdin):
            calls.append((inputs, stdin))
            result_counts = ResultCounts(audit_warn=inputs.audit_warn)
            watched = counted_responses(responses, result_counts)
            run = Run(
                policies=(),
                resource_count=len(responses),
                rule_count=1,
                exception_count=0,
                diagnostics=tuple(diagnostics),
                responses=watched,
                result_counts=result_counts,
                audit_warn=inputs.audit_warn,
            )
            return Application(inputs, None, None, run)

        monkeypatch.setattr(apply, "application_of", opened)

    answer(make_response(RuleStatus.PASS))
    return answer


@pytest.fixture
def kyvsim(capfdbinary):
    """A function that runs the program: exit status, standard output, standard error."""

    def run(*arguments):
        status = main.run(arguments)
        captured = capfdbinary.readouterr()
        return status, captured.out.decode(), captured.err.decode()

    return run
