"""PolicyExceptions of `policies.kyverno.io`, for policies in CEL.

An exception that names images or values exempts nothing itself: the policy's expressions read
them. Any other is full: nothing is checked, and the result notes it. Expired exceptions are
ignored; the result notes that too, since upstream's command line still applies them.

Source of the rules: upstream pkg/cel/policies/vpol (compiler/policy.go, engine/engine.go).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.cel.kyverno.environments import KINDS, kyverno_environment
from kyvsim.engine.compile.compiled import (
    CompiledBody,
    CompileOptions,
    Evaluation,
    MatchedException,
    Outcome,
)
from kyvsim.engine.missing_input import remedy_for
from kyvsim.languages.cel.kind import PolicyPart, RequestValues
from kyvsim.languages.cel_expressions import (
    CompiledExpression,
    Compiler,
    EvaluationError,
    ExpressionProblem,
    KyvernoScope,
    all_hold,
)
from kyvsim.languages.cel_remedies import expression_error
from kyvsim.model.diagnostic import Diagnostic
from kyvsim.model.policy import CelException, Policy
from kyvsim.model.release import Release
from kyvsim.model.result import RuleStatus
from kyvsim.model.tracing import Count, PointKind, PolicyPlace, TraceContext


class _ExceptionEntry(NamedTuple):
    exception: CelException
    conditions: tuple[CompiledExpression, ...]
    unbound: str
    """A variable without a value that its conditions read; "" for none."""
    counts: tuple[Count, ...]


class Matched(NamedTuple):
    """The exceptions that match a request."""

    counting: tuple[CelException, ...] = ()
    expired: tuple[CelException, ...] = ()

    @property
    def is_full(self) -> bool:
        """Whether one of them is full."""
        return any(one.is_full for one in self.counting)

    @property
    def partial(self) -> tuple[MatchedException, ...]:
        """The exceptions as expressions read them."""
        return tuple(MatchedException(one.key, (), one.images, one.values) for one in self.counting)

    @property
    def note(self) -> str:
        """The note for users about expired exceptions."""
        return "; ".join(
            f"the exception `{one.key}` has expired and is ignored" for one in self.expired
        )


class CompiledExceptions(NamedTuple):
    """The exceptions for one policy, or one of its variants."""

    entries: tuple[_ExceptionEntry, ...]
    values: RequestValues
    options: CompileOptions
    ignores_faults: bool
    """Whether conditions that cannot be evaluated do not hold."""
    settled_by_full: bool
    """Whether errors are ignored after a matching full exception."""
    full_only: bool
    """Whether a matching exception for some images or values has no effect."""

    def matching(self, evaluation: Evaluation) -> Matched:
        """Return those that match; raises EvaluationError unless a full exception settles it."""
        values = self.values.of(evaluation)
        now = self.options.system.clock.now()
        counting: list[CelException] = []
        expired: list[CelException] = []
        for entry in self.entries:
            is_over = entry.exception.expires is not None and entry.exception.expires < now
            try:
                if self._matches(entry, values) and (entry.exception.is_full or not self.full_only):
                    (expired if is_over else counting).append(entry.exception)
            except EvaluationError as error:
                settled = self.settled_by_full and any(one.is_full for one in counting)
                if not (is_over or settled):
                    what = f"a condition of exception {entry.exception.key} cannot be evaluated"
                    remedy = remedy_for(str(error))
                    evaluation.scope.hints.append(": ".join(filter(None, (what, remedy))))
                    raise
                continue
            if entry.exception in counting:
                for count in entry.counts:
                    count(0)
        return Matched(tuple(counting), tuple(expired))

    def _matches(self, entry: _ExceptionEntry, values: Sequence[object]) -> bool:
        try:
            if not entry.unbound:
                return all_hold(entry.conditions, values)
        except EvaluationError:
            if not self.ignores_faults:
                raise
        if self.ignores_faults:
            return False
        raise EvaluationError(f"no such attribute(s): {entry.unbound}")


def compile_exceptions(
    part: PolicyPart,
    *,
    ignorable: bool,
    variables: Mapping[str, CompiledExpression] | None = None,
    of_images: bool = False,
) -> CompiledExceptions | None:
    """Return the exceptions that name a policy, None if there are none.

    Their conditions are compiled with the policy's expressions: their problems are problems of the
    policy. `ignorable` is whether the policy's `failurePolicy` applies to them too; `variables`
    are those that they may read; `of_images` is whether it is an ImageValidatingPolicy, for which
    releases count exceptions differently.
    """
    full_only = of_images and not part.options.system.release.counts_partial_exceptions
    policy, entries = part.policy, []
    # Variables that conditions of exceptions may name but that have no value there.
    without = ("exceptions", "variables") if variables is None else ("exceptions",)
    for exception in part.options.cel_exceptions:
        named = [
            index
            for index, one in enumerate(exception.policies)
            if (one.kind, one.name) == (policy.kind, policy.name)
        ]
        if named:
            place = PolicyPlace(exception.document, exception.name, "", ("spec",))
            # Coverage does not count the expressions of exceptions.
            trace = TraceContext(place, part.options.tracer, counts=False)
            compiler = Compiler(part.compiler.scope, trace, part.compiler.meter)
            conditions = compiler.conditions(exception.conditions)
            part.compiler.reads |= compiler.reads
            part.compiler.problems += [
                one._replace(document=exception.document) for one in compiler.problems
            ]
            read = {name for one in conditions for name in one.reads}
            unbound = next((name for name in without if name in read), "")
            for index in named:  # one that names the policy twice counts twice, as in upstream
                point = _point(exception, index, part.options)
                seen = (point,) if point else ()
                entries.append(_ExceptionEntry(exception, conditions, unbound, seen))
    if not entries:
        return None
    ignores = ignorable and not policy.facts.fails_closed
    values = RequestValues(part, variables or {})
    return CompiledExceptions(
        tuple(entries), values, part.options, ignores, full_only or not of_images, full_only
    )


def declare_cel_exceptions(options: CompileOptions) -> None:
    """Declare every policy that exceptions name for coverage, including absent policies."""
    for exception in options.cel_exceptions:
        for index in range(len(exception.policies)):
            _point(exception, index, options)


def _point(exception: CelException, index: int, options: CompileOptions) -> Count | None:
    named = exception.policies[index]
    place = PolicyPlace(exception.document, named.name, "", ("spec", "policyRefs", index))
    return TraceContext(place, options.tracer).declare(PointKind.EXCEPTION, "applied")


def with_exceptions(
    body: CompiledBody, exceptions: CompiledExceptions, faulted: Callable[[str], Outcome]
) -> CompiledBody:
    """Return a body that runs only if no full exception matches.

    `faulted` returns the outcome if an exception's conditions cannot be evaluated.
    """

    def run(evaluation: Evaluation) -> Outcome | None:
        try:
            matched = exceptions.matching(evaluation)
        except EvaluationError as error:
            return faulted(str(error))
        if matched.is_full:
            return excepted(matched)
        return noted(body(evaluation._replace(exceptions=matched.partial)), matched)

    return run


def excepted(matched: Matched) -> Outcome:
    """Return the result of the matching full exception with the highest priority."""
    keys = tuple(one.key for one in matched.counting)
    chosen = max(matched.counting, key=lambda one: one.priority)
    status, done = (RuleStatus.PASS, "passed") if chosen.passes else (RuleStatus.SKIP, "skipped")
    message = f"rule is {done} due to policy exception: {', '.join(keys)}"
    return Outcome(status, message, exceptions=keys, rule_name="exception", note=matched.note)


def noted(outcome: Outcome | None, matched: Matched) -> Outcome | None:
    """Return an outcome that notes expired exceptions."""
    if outcome is None or not matched.expired:
        return outcome
    return outcome._replace(note="; ".join(filter(None, (outcome.note, matched.note))))


def refused_conditions(exception: CelException) -> tuple[ExpressionProblem, ...]:
    """Return the problems of conditions with which a cluster rejects an exception.

    There, Kyverno's libraries and the policy's variables are unknown.

    upstream: pkg/cel/compiler/policy_exception.go
    """
    env = kubernetes_environment()
    known = tuple(one for one in env.variables if one[0] != "variables")
    compiler = Compiler(KyvernoScope(env._replace(variables=known)))
    compiler.conditions(one for one in exception.conditions if one.expression.strip())
    return tuple(compiler.problems)


def refused_by_cluster(exception: CelException, release: Release) -> Iterator[Diagnostic]:
    """Yield KV150 for conditions with which a cluster rejects an exception."""
    for one in refused_conditions(exception) if release.compiles_exceptions else ():
        place = exception.document.locate(one.path)
        yield expression_error("KV150", f"`{exception.key}`", one.message, place)


def lone_problems(
    exceptions: Iterable[CelException], policies: Iterable[Policy], options: CompileOptions
) -> Iterator[Diagnostic]:
    """Yield KV150 for conditions of exceptions whose policies are not given.

    The conditions are otherwise compiled with the policy. Those that read the policy's variables
    are skipped.
    """
    given = {(one.kind, one.name) for one in policies}
    for exception in exceptions:
        kinds = {one.kind for one in exception.policies if (one.kind, one.name) not in given}
        for kind in sorted(one for one in kinds if one.removeprefix("Namespaced") in KINDS):
            system = options.system
            env = kyverno_environment(kind, system.clock, system.entropy, release=system.release)
            compiler = Compiler(KyvernoScope(env))
            compiler.conditions(exception.conditions)
            for problem in compiler.problems:
                if "variables" not in problem.text:
                    place = exception.document.locate(problem.path)
                    yield expression_error("KV150", f"`{exception.key}`", problem.message, place)
