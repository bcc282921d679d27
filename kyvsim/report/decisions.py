"""The step of an explained rule that decides its result, in words."""

from typing import NamedTuple

from kyvsim.kubernetes.objects import object_key
from kyvsim.model.explanation import (
    ObjectExplanation,
    RuleExplanation,
    Step,
    StepKind,
    Value,
    deciding,
    places,
)
from kyvsim.model.policy import underived
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.source import Location
from kyvsim.report.diagnostics import resource_place, sentence

_COMPARED = frozenset({StepKind.SIDE, StepKind.FINDING, StepKind.EXPRESSION})
"""Steps that show the values evaluated by their parent step."""


class DecisionText(NamedTuple):
    """The decisive step of a rule, and its positions."""

    text: str
    place: Location | None
    seen_at: Location | None


def rule_name(rule: RuleExplanation) -> str:
    """Return a rule's name after that of its policy, with its variant."""
    return " / ".join(filter(None, (rule.policy.key, rule.rule.name, rule.rule.variant)))


def decision(
    rule: RuleExplanation, explanation: ObjectExplanation, *, in_test: bool = False
) -> DecisionText:
    """Return the decisive step of a rule, with the nearest known positions.

    `in_test` says how a test manifest provides a missing input, instead of the options of `apply`.
    """
    path = deciding(rule.steps)
    object_place = resource_place(explanation.response)
    if not path:
        return DecisionText("no step was evaluated", rule.place, object_place)
    last = path[-1]
    names = [step.name for step in path if step.name and step.kind is not StepKind.BODY]
    named = last._replace(name=" / ".join(names)) if names else last
    place, seen_at = places(path)
    inner = (step for step in last.steps if step.kind in _COMPARED and step.answer is None)
    remedy = _remedy(last, explanation.response.request, in_test=in_test)
    if last.name == "kinds":
        remedy = underived(rule.policy, object_key(explanation.response.trigger).kind)
    text = "; ".join(filter(None, (sentence(named), *map(str.strip, map(sentence, inner)), remedy)))
    return DecisionText(text, place or rule.place, seen_at or object_place)


def _remedy(step: Step, request: AdmissionRequest | None, *, in_test: bool) -> str:
    """Return how to provide an input that was assumed, and because of which no rule matched.

    "" if a cluster, or an AdmissionReview, provided the whole request.
    """
    if request is None or request.details or step.kind is not StepKind.CRITERION:
        return ""
    if step.name == "namespaceSelector" and step.found == Value({}):
        name = object_key(request.subject).namespace
        # upstream: cmd/cli/kubectl-kyverno/commands/test passes no labels of Namespaces that are
        # among its resources.
        how = (
            "a test does not read them from Namespaces among its `resources`: set them in the "
            "values as `namespaceSelector`, or add the Namespace to a ClusterResource of "
            "`clusterResources`"
            if in_test
            else f"add it to the resources, or pass --namespace-labels {name}:KEY=VALUE"
        )
        return f"missing input: labels of Namespace `{name}`: {how}"
    others = step.wanted.data if step.name == "operations" and step.wanted else ()
    if others and request.operation is Operation.CREATE:
        how = f"set `operation: {others[0]}`" if in_test else f"pass --operation {others[0]}"
        return f"missing input: the request is assumed to be a CREATE: {how}"
    return ""
