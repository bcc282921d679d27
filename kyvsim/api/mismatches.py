"""Why rules do not match resources of their kinds: the decisive criterion, and inputs it lacks."""

from collections.abc import Callable, Iterable, Iterator

from kyvsim.engine.compile import PolicySet
from kyvsim.engine.explain import Recorder, explanation_of
from kyvsim.model.explanation import ObjectExplanation, RuleExplanation, StepKind, deciding
from kyvsim.model.result import EngineResponse, ReportedReason
from kyvsim.model.tracing import Tracer
from kyvsim.report.decisions import decision, rule_name
from kyvsim.report.results import title

KIND_CRITERIA = frozenset({"kinds", "resources", "apiGroups", "apiVersions"})
"""The criteria that select kinds."""


def mismatches(
    explanation: ObjectExplanation, *, in_test: bool = False
) -> Iterator[tuple[RuleExplanation, ReportedReason]]:
    """Yield the rules that do not apply to an object, with the decisive step and its positions."""
    for rule in explanation.rules:
        if not rule.applied:
            decided = decision(rule, explanation, in_test=in_test)
            place = decided.place or rule.place
            yield rule, ReportedReason(decided.text, place, decided.seen_at)


def first_mismatch(
    compile_traced: Callable[[Tracer], PolicySet],
    evaluate_all: Callable[[PolicySet], Iterable[EngineResponse]],
) -> ReportedReason | None:
    """Return why the first rule does not match an object of its kind; None if there is none.

    Policies are compiled with a tracer, and evaluated on objects until a rule is found.
    """
    recorder = Recorder()
    policies = compile_traced(recorder)
    for response in evaluate_all(policies):
        found = explanation_of(response, recorder.taken(), policies)
        for rule, reason in mismatches(found):
            path = deciding(rule.steps)
            is_criterion = bool(path) and path[-1].kind is StepKind.CRITERION
            if is_criterion and path[-1].name not in KIND_CRITERIA:
                about = f"`{rule_name(rule)}` on {title(response.trigger)}"
                return reason._replace(text=f"{about}: {reason.text}")
    return None
