"""Compiles a policy of a CEL kind to a CompiledPolicy, and reports problems of its expressions.

Codes: KV150 an expression that cannot be compiled, KV159 a policy or an entry without effect,
KV160 a policy that changes nothing in a cluster.
"""

from collections.abc import Iterator, Mapping

from kyvsim.cel.kyverno.environments import kyverno_environment
from kyvsim.engine.compile import CompiledPolicy, CompileOptions
from kyvsim.engine.compile.compiled import CompiledRule, Evaluation, Outcome, failed
from kyvsim.engine.compile.tracing import counted_rule, traced_rule
from kyvsim.kubernetes.discovery import NO_KINDS, KindTable
from kyvsim.languages.cel.deleting_policy import DELETING
from kyvsim.languages.cel.exceptions import compile_exceptions, with_exceptions
from kyvsim.languages.cel.facts import WebhookFacts, mutates, mutating_facts, webhook_facts
from kyvsim.languages.cel.generating_policy import GENERATING
from kyvsim.languages.cel.image_validating_policy import IMAGE_VALIDATING, PINNING
from kyvsim.languages.cel.kind import CelKind, PolicyPart
from kyvsim.languages.cel.mutating_policy import MUTATING, ExistingChange, compile_mutating_policy
from kyvsim.languages.cel.payloads import authorization_compiler, compile_authorization
from kyvsim.languages.cel.validating_policy import VALIDATING
from kyvsim.languages.cel_expressions import (
    Compiler,
    ExpressionProblem,
    KyvernoScope,
)
from kyvsim.languages.cel_remedies import expression_error, remedies
from kyvsim.languages.constraints import (
    Constraints,
    compile_constraints,
    selector_errors,
    selector_problems,
)
from kyvsim.model.diagnostic import Diagnostic, Severity
from kyvsim.model.policy import Policy
from kyvsim.model.release import Release
from kyvsim.model.request import Operation, PayloadMode
from kyvsim.model.result import RuleStatus
from kyvsim.policy.cel_autogen import EXTRACTION, PolicyVariant, extraction_variants

KINDS = (VALIDATING, MUTATING, GENERATING, DELETING, IMAGE_VALIDATING)
_BY_NAME: Mapping[str, CelKind] = {
    name: kind for kind in KINDS for name in (kind.name, f"Namespaced{kind.name}")
}

_REFERENCE = "the variable `ref` has the image reference here"
_BEFORE_VARIABLES = frozenset({"matchConditions", "targetMatchConditions", "conditions"})
_CONDITION_ADVICE = (
    "conditions are evaluated before the variables: write the expression of the variable here"
)
_TEXT_NOTE = "note: write a constant text in `message`; in expressions, strings have own quotes"


def compile_cel_policy(
    policy: Policy, options: CompileOptions
) -> tuple[CompiledPolicy | None, tuple[Diagnostic, ...]]:
    """Return a compiled policy, or None, and its diagnostics."""
    compiled, problems = _lowered(policy, options)
    problems_of_targets = selector_problems(policy.cel.target_match_constraints)
    told = tuple(selector_errors(policy.document, problems_of_targets))
    if problems:
        variables, system = remedies(policy.cel.variables), options.system
        env = kyverno_environment(policy.kind, system.clock, system.entropy, release=system.release)
        for one in problems:
            place = (one.document or policy.document).locate(one.path)
            form = f" (its variant for {one.variant})" if one.variant else ""
            names = {"image": _REFERENCE} if one.path[1] == "matchImageReferences" else variables
            about = f"`{policy.key}`{form}"
            is_early = one.path[1] in _BEFORE_VARIABLES and any(
                f"undefined field '{name}'" in one.message for name in variables
            )
            advice = _CONDITION_ADVICE if is_early else ""
            error = expression_error("KV150", about, one.message, place, names, env, advice=advice)
            if one.path[-1] == "messageExpression" and "Syntax error" in one.message:
                error = error._replace(excerpt=(*error.excerpt, _TEXT_NOTE))
            told = (*told, error)
        return (compiled if _BY_NAME[policy.kind].tells_faults else None), told
    return compiled, told


def problems_of(policy: Policy, options: CompileOptions) -> tuple[ExpressionProblem, ...]:
    """Return the expressions of a policy that cannot be compiled."""
    return _lowered(policy, options)[1]


def forbidden_names(policy: Policy, options: CompileOptions) -> Iterator[tuple[str, str]]:
    """Yield the variables, such as `http`, that a namespaced policy must not read, and why.

    A cluster rejects policies that read them in the expressions that it searches.

    upstream: validate.go of pkg/cel/policies, pkg/cel/compiler/http.go
    """
    if not policy.namespace:
        return
    spec, release = policy.cel, options.system.release
    if not release.searches_all_expressions:
        targets = spec.target_match_constraints
        spec = spec._replace(
            target_match_constraints=targets and targets._replace(expression=""),
            target_match_conditions=(),
            attestors=tuple(one._replace(expressions=()) for one in spec.attestors),
        )
    searched = PolicyVariant("", spec)
    reads = _lower_part(_BY_NAME[policy.kind], policy, searched, options)[1].reads
    confined = release.global_context_problem("globalContext.*", namespaced=True)
    if confined and "globalContext" in reads:
        yield "globalContext", confined
    if "http" in reads:
        why = "set --allowHTTPInNamespacedPolicies to enable"
        yield "http", f"http.* is not allowed in namespaced policies; {why}"


def variants_of(policy: Policy, release: Release) -> tuple[PolicyVariant, ...]:
    """Return the variants of a policy for Pod controllers."""
    return _variants(_BY_NAME[policy.kind], policy, release)


def _variants(kind: CelKind, policy: Policy, release: Release) -> tuple[PolicyVariant, ...]:
    extracted = extraction_variants(policy.cel) if _extracts(kind, release) else ()
    return (*kind.variants(policy.cel), *extracted)


def extracts_templates(policy: Policy, release: Release) -> bool:
    """Return whether custom workloads can be among the controllers of a policy."""
    return _extracts(_BY_NAME[policy.kind], release)


def _extracts(kind: CelKind, release: Release) -> bool:
    return release.extracts_templates and kind.on_templates is not None


def webhook_facts_of(policy: Policy, release: Release, kinds: KindTable = NO_KINDS) -> WebhookFacts:
    """Return the facts of a policy for its webhook."""
    without = frozenset(alone for kind, alone in release.without_variants if kind == policy.kind)
    return webhook_facts(policy, variants_of(policy, release), kinds, without)


def existing_changes(policy: Policy, options: CompileOptions) -> tuple[ExistingChange, ...]:
    """Return the changes of existing objects by each variant of a policy, its own first.

    It is empty for a policy without targets.
    """
    # Custom workloads are not mutated.
    specs = [policy.cel, *(one.spec for one in MUTATING.variants(policy.cel))]
    found = []
    for spec in specs:
        part = PolicyPart(policy, spec, _compiler(policy, options), options)
        compiled = compile_mutating_policy(part)
        if compiled.targets is not None:
            found.append(ExistingChange(compiled, compiled.targets))
    return tuple(found)


def pinning(policy: Policy, options: CompileOptions) -> CompiledPolicy:
    """Return the part of an ImageValidatingPolicy that runs before images are validated."""
    return _lower(policy, options, PINNING)[0]


def _lowered(
    policy: Policy, options: CompileOptions
) -> tuple[CompiledPolicy, tuple[ExpressionProblem, ...]]:
    decided = policy.facts.judges
    if decided is not None:
        kind = _BY_NAME[policy.kind]
        trace = options.trace_of(policy, policy.rules[0])
        compiler = authorization_compiler(decided, options.system, trace)
        body = compile_authorization(PolicyPart(policy, policy.cel, compiler, options), decided)
        rule = CompiledRule(
            rule=policy.rules[0]._replace(name=policy.name),
            stage=kind.stage,
            matches=lambda _: False,
            kinds=frozenset(),
            body=body,
            meter=options.system.meter,
            payloads={decided: body},
        )
        rule = counted_rule(traced_rule(rule, policy, trace), kind.ends(policy.cel), trace)
        return CompiledPolicy(policy, (rule,)), tuple(compiler.problems)
    return _lower(policy, options)


def _lower(
    policy: Policy, options: CompileOptions, kind: CelKind | None = None
) -> tuple[CompiledPolicy, tuple[ExpressionProblem, ...]]:
    kind = kind or _BY_NAME[policy.kind]
    release = options.system.release
    of_variants = options
    if kind is IMAGE_VALIDATING and not (options.simulated or release.exempts_variants):
        of_variants = options._replace(cel_exceptions=())
    rules: list[CompiledRule] = []
    found: list[ExpressionProblem] = []
    for one in (PolicyVariant("", policy.cel), *_variants(kind, policy, release)):
        if options.only is not None and one.name != options.only.variant:
            continue
        rule, compiler = _lower_part(kind, policy, one, of_variants if one.name else options)
        rules.append(rule)
        # Problems of the written policy are not repeated for its variants.
        if all(problem.variant for problem in found):
            found += (problem._replace(variant=one.name) for problem in compiler.problems)
    trace = options.trace_of(policy, policy.rules[0])
    forms = tuple(one.rule.variant or "as written" for one in rules)
    ends = kind.ends(policy.cel)
    rules = [counted_rule(one, ends, trace, number, forms) for number, one in enumerate(rules)]
    return CompiledPolicy(policy, tuple(rules)), tuple(found)


def _lower_part(
    kind: CelKind, policy: Policy, variant: PolicyVariant, options: CompileOptions
) -> tuple[CompiledRule, Compiler]:
    spec, compiler = variant.spec, _compiler(policy, options)
    part = PolicyPart(policy, spec, compiler, options)
    body = kind.compile(part)
    if not kind.weighs_exceptions:
        exceptions = compile_exceptions(part, ignorable=kind.forgives_faults)
        if exceptions is not None:
            body = with_exceptions(body, exceptions, kind.unevaluated)
    if variant.name == EXTRACTION and kind.on_templates is not None:
        body = kind.on_templates(body, compiler.trace)
    written = spec.match_constraints
    constraints = compile_constraints(
        written.for_any_operation() if written and kind.any_operation else written,
        policy.namespace,
        options.kinds,
        everything=kind.without_constraints,
        trace=compiler.trace.at("matchConstraints"),
    )
    payloads = {PayloadMode.JSON: body} if kind.judges_json(part.mode) else {}
    if part.mode == "JSON" and kind.json_objects:
        constraints, judge = Constraints(lambda _: True, None), body

        def as_payload(evaluation: Evaluation) -> Outcome | None:
            request = evaluation.request
            given = evaluation.object if evaluation.object is not None else request.subject
            request = request._replace(operation=Operation.CREATE, object=given, is_payload=True)
            return judge(evaluation._replace(request=request, object=given))

        body = as_payload
    if constraints.fault:
        message = f"{kind.match_fault}{constraints.fault}"
        cannot_match = Outcome(RuleStatus.ERROR, message, rule_name=kind.match_rule)
        body = lambda _: cannot_match  # noqa: E731 — one of several bodies
    rule = CompiledRule(
        rule=policy.rules[0]._replace(
            name=policy.name if kind.names_rules else "", data=spec.data, variant=variant.name
        ),
        stage=kind.stage,
        matches=constraints.matches,
        kinds=None if kind.unmatched else constraints.kinds,
        body=body,
        meter=options.system.meter,
        later=kind.later,
        unmatched=failed(kind.unmatched) if kind.unmatched else None,
        payloads=payloads,
        stands_alone=True,
        answers_always=kind.answers_always(spec),
    )
    return traced_rule(rule, policy, compiler.trace), compiler


def _compiler(policy: Policy, options: CompileOptions) -> Compiler:
    system = options.system
    mode = policy.cel.evaluation.mode
    env = kyverno_environment(policy.kind, system.clock, system.entropy, mode, system.release)
    return Compiler(KyvernoScope(env), options.trace_of(policy, policy.rules[0]), system.meter)


def unused_parts(policy: Policy) -> Iterator[Diagnostic]:
    """KV159: a part of a policy without effect here; KV160: one without effect in a cluster."""
    targets = mutating_facts(policy) if mutates(policy.kind) else None
    if targets is not None and targets.keeps_triggers and not targets.changes_existing:
        text = (
            f"`{policy.key}` changes nothing in a cluster: it has `targetMatchConstraints`, so "
            "the objects of requests are not changed, and without "
            "`evaluation.mutateExisting.enabled` its targets are never evaluated"
        )
        place = policy.document.locate(("spec", "targetMatchConstraints"))
        yield Diagnostic("KV160", Severity.WARNING, text, place)
    for path, reason in _BY_NAME[policy.kind].no_effect(policy.cel):
        text = f"`{policy.key}` has no effect: {reason}"
        yield Diagnostic("KV159", Severity.WARNING, text, policy.document.locate(path))


# Whether an admission policy of Kubernetes can replace a policy that enables one.
#
# Source of the rules: upstream pkg/controllers/admissionpolicygenerator (generate-vap.go,
# generate-map.go).


def wants_native_policy(policy: Policy, kind: str) -> bool:
    """Return whether a policy enables an admission policy of a kind."""
    return policy.cel.autogen.native_policies[kind] is True


def why_no_native_policy(policy: Policy, kind: str, release: Release) -> str:
    """Return why no admission policy is generated for a policy, or ""."""
    skipped = f"skip generating {kind}:"
    if not wants_native_policy(policy, kind):
        return f"{skipped} not enabled."
    if kind == "MutatingAdmissionPolicy" and policy.cel.evaluation.use_server_side_apply:
        return (
            f"{skipped} useServerSideApply is enabled, which mutates atomic fields that a native "
            "MutatingAdmissionPolicy rejects."
        )
    if variants_of(policy, release):
        return f"{skipped} pod controllers autogen is enabled."
    return ""
