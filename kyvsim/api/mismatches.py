"""Why rules do not match resources of their kinds: the decisive criterion, and inputs it lacks."""

from collections.abc import Callable, Iterable, Iterator

from kyvsim.engine.compile import PolicySet
from kyvsim.engine.explain import Recorder, explanation_of
from kyvsim.engine.missing_input import remedy_for
from kyvsim.kubernetes.objects import text_field
from kyvsim.model.explanation import ObjectExplanation, RuleExplanation, StepKind, deciding
from kyvsim.model.result import EngineResponse, ReportedReason
from kyvsim.model.tracing import Tracer
from kyvsim.report.decisions import decision, rule_name
from kyvsim.report.results import title

KIND_CRITERIA = frozenset({"kinds", "resources", "apiGroups", "apiVersions"})
"""The criteria that select kinds."""
_UNMATCHED = frozenset({StepKind.CRITERION, StepKind.LOOP, StepKind.BODY, StepKind.CONCERN})
"""Steps that decide that a rule does not match, or has no result."""


def mismatches(
    explanation: ObjectExplanation, *, in_test: bool = False
) -> Iterator[tuple[RuleExplanation, ReportedReason]]:
    """Yield the rules that do not apply to an object, with the decisive step and its positions."""
    for rule in explanation.rules:
        if not rule.applied:
            yield rule, _reason(rule, explanation, in_test=in_test)


def _reason(
    rule: RuleExplanation, explanation: ObjectExplanation, *, in_test: bool = False
) -> ReportedReason:
    decided = decision(rule, explanation, in_test=in_test)
    path = deciding(rule.steps)
    remedy = remedy_for(path[-1].note) if path else ""
    text = "; ".join(filter(None, (decided.text, remedy)))
    return ReportedReason(text, decided.place or rule.place, decided.seen_at)


def first_reason(
    compile_traced: Callable[[Tracer], PolicySet],
    evaluate_all: Callable[[PolicySet], Iterable[EngineResponse]],
    *,
    skips: bool,
) -> ReportedReason | None:
    """Return why the first rule does not match an object of its kind; None if there is none.

    If all of them are of another version, or of resources of another name, it is why the first one
    is. With `skips`, it is why the first one is skipped.

    Policies are compiled with a tracer, and evaluated on objects until a rule is found.
    """
    recorder = Recorder()
    policies = compile_traced(recorder)
    other_kind: ReportedReason | None = None
    for response in evaluate_all(policies):
        found = explanation_of(response, recorder.taken(), policies)
        for rule in found.rules:
            path = deciding(rule.steps)
            last = path[-1].kind if path else None
            is_of_kind = last is not StepKind.CRITERION or path[-1].name not in KIND_CRITERIA
            ended = last in _UNMATCHED and is_of_kind and not rule.results
            # Exceptions skip rules on purpose.
            skipped = bool(rule.results) and not any(one.exceptions for one in rule.results)
            decides = skipped if skips else ended
            kinds = rule.rule.facts.kinds
            meets = kinds is None or text_field(response.trigger, "kind") in kinds
            if not decides and (other_kind or not meets):
                continue
            reason = _reason(rule, found)
            about = f"`{rule_name(rule)}` on {title(response.trigger)}"
            texts = (one.own or one.message for one in rule.results[:1])
            # CEL policies have no message of their own for it.
            parts = [about, *(text for text in texts if text != "skip"), reason.text]
            reason = reason._replace(text=": ".join(parts))
            if decides:
                return reason
            other_kind = reason
    return None if skips else other_kind
