"""Expressions of policies in CEL: compiled with their paths, and evaluated with upstream's errors.

Expressions that an API server compiles (admission policies of Kubernetes, and `validate.cel` of
ClusterPolicies) differ little from those of Kyverno's kinds: their compiler has a `NativeScope`
instead of a `KyvernoScope`, and they are native. An expression that cannot be compiled is stored
with the reason, since some callers evaluate the others nevertheless.

Source of the rules: upstream pkg/cel/compiler (matchconditions.go, variables.go, validation.go);
for native ones k8s.io/apiserver pkg/admission/plugin/cel (compile.go, composition.go),
pkg/admission/plugin/policy/validating/validator.go, as upstream's pkg/admissionpolicy calls it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from kyvsim.cel import (
    CelBudgetError,
    CelError,
    CompileError,
    Environment,
    Program,
    compile_expression,
)
from kyvsim.cel import kubernetes as native
from kyvsim.cel.program import LazyVariables, composited, plainly
from kyvsim.cel.types import BOOL, DYN, NULL, STRING, CelType, struct
from kyvsim.kubernetes.go_text import quote
from kyvsim.kubernetes.objects import KubernetesObject, Path
from kyvsim.languages.tracing import traced_program
from kyvsim.model.diagnostic import Diagnostic, Severity, listed, nearest
from kyvsim.model.ports import Meter
from kyvsim.model.source import Document, Location
from kyvsim.model.tracing import NO_TRACE, TraceContext
from kyvsim.policy.cel_policy import CelExpression
from kyvsim.policy.tree import NamedExpression

_KYVERNO_VARIABLES = "kyverno.variables"
"""The type of `variables` of `kyverno.environments`, which native policies do not load."""
_LONGEST_MESSAGE = 5 * 1024


class ExpressionProblem(NamedTuple):
    """An expression that cannot be compiled."""

    path: Path
    text: str
    message: str
    """Upstream's message, with the lines that mark the position in the expression."""
    shown: tuple[Path, str] | None = None
    """The field and the value that upstream reports instead."""
    variant: str = ""
    """The variant for controllers that contains it; "" for the policy as written."""
    document: Document | None = None
    """The document that contains it, if not the policy's."""

    @property
    def detail(self) -> str:
        """The message as diagnostics show it."""
        return self.message.removeprefix("compilation failed: ")


class EvaluationError(Exception):
    """An expression that cannot be evaluated; the text is upstream's."""


class CompiledExpression(NamedTuple):
    """An expression with its program, or with the reason why it has none."""

    text: str
    program: Program | None
    problem: str = ""
    is_native: bool = False
    """Whether errors name the expression, as those of an API server do."""

    @property
    def reads(self) -> frozenset[str]:
        """The variables of the environment that it reads."""
        return self.program.reads if self.program else frozenset()

    def value(self, values: Sequence[object]) -> Any:
        """Return the expression's value; raises EvaluationError."""
        if self.program is None:
            raise EvaluationError(f"compilation error: {self.problem}")
        try:
            return self.program.evaluate(values)
        except (CelError, CelBudgetError) as error:
            start = f"expression '{self.text}' resulted in error: " if self.is_native else ""
            raise EvaluationError(f"{start}{error}") from None

    def traced(self, trace: TraceContext, *, decides: bool) -> "CompiledExpression":
        """Return the expression with a program that reports to a tracer."""
        program = self.program and traced_program(self.program, trace, decides=decides)
        return self._replace(program=program)


class NativeScope(NamedTuple):
    """What an expression of an API server may use in addition to the common environment."""

    params: bool
    authorizer: bool = True
    mutates: bool = False
    variables: tuple[tuple[str, CelType], ...] = ()

    @property
    def env(self) -> Environment:
        """The environment for this scope."""
        env = native.kubernetes_environment(
            params=self.params, authorizer=self.authorizer, mutates=self.mutates
        )
        return env.with_fields(native.VARIABLES, dict(self.variables)) if self.variables else env

    def with_variable(self, name: str, program: Program | None) -> "NativeScope":
        """Return the scope with an additional variable; without program its type is dynamic."""
        found = native.declared_type(program.type) if program else DYN
        return self._replace(variables=(*self.variables, (name, found)))


class KyvernoScope(NamedTuple):
    """What an expression of one of Kyverno's kinds may use."""

    env: Environment

    def with_variable(self, name: str, program: Program | None) -> "KyvernoScope":
        """Return the scope with an additional variable; without program its type is dynamic."""
        return KyvernoScope(_with_variable(self.env, name, program.type if program else DYN))


@lru_cache(maxsize=1024)
def _with_variable(env: Environment, name: str, kind: CelType) -> Environment:
    fields = {**env.fields.get(_KYVERNO_VARIABLES, {}), name: kind}
    return env.with_fields(_KYVERNO_VARIABLES, fields)


@lru_cache(maxsize=1024)
def _program(
    text: str, scope: NativeScope | KyvernoScope, wanted: CelType
) -> Program | CompileError:
    """Return the program, cached: for checks, for evaluations, and to explain failures."""
    try:
        return compile_expression(text, scope.env, wanted)
    except CompileError as error:
        return error


class Validation(NamedTuple):
    """One entry of `validations`."""

    test: CompiledExpression
    message: str
    message_expression: CompiledExpression | None

    def denial(self, index: int, values: Sequence[object]) -> str:
        """Return the message if it is false; `index` is its position among the validations."""
        text = self.message
        if self.test.is_native:
            # An API server ignores messages without a value, with several lines, or too long.
            try:
                found = self.message_expression and self.message_expression.value(values)
            except EvaluationError:
                found = None
            computed = found.strip() if found.__class__ is str else ""
            if "\n" in computed or len(computed.encode()) > _LONGEST_MESSAGE:
                computed = ""
            return computed or text.strip() or f"failed expression: {self.test.text.strip()}"
        if self.message_expression is not None:
            try:
                text = str(self.message_expression.value(values))
            except EvaluationError as error:
                text = f"failed to evaluate message expression: {error}"
        return text or f"CEL expression validation failed at index {index}"


class Compiler:
    """Compiles the expressions of one policy, and records their problems."""

    def __init__(
        self,
        scope: NativeScope | KyvernoScope,
        trace: TraceContext = NO_TRACE,
        meter: Meter | None = None,
    ) -> None:
        """Set up for expressions that `trace` traces and whose steps `meter` counts."""
        self.scope = scope
        self.trace = trace
        self.meter = meter
        self.problems: list[ExpressionProblem] = []
        self.reads: set[str] = set()
        """The variables of the environment that the expressions so far read."""

    @property
    def _is_native(self) -> bool:
        return isinstance(self.scope, NativeScope)

    @property
    def env(self) -> Environment:
        """The environment of the next expression."""
        return self.scope.env

    def program(self, text: str, wanted: CelType = DYN) -> CompiledExpression:
        """Return a compiled expression; raises CompileError, and records nothing."""
        program = _program(text, self.scope, wanted)
        if isinstance(program, CompileError):
            raise program
        self.reads |= program.reads
        program = program._replace(meter=self.meter)
        return CompiledExpression(text, program, is_native=self._is_native)

    def compile(
        self,
        text: str,
        path: Path,
        wanted: CelType = DYN,
        *,
        shown: tuple[Path, str] | None = None,
        decides: bool | None = None,
        counts: bool = True,
    ) -> CompiledExpression:
        """Return a compiled expression; if it cannot be compiled, its problem is recorded.

        By default, boolean expressions decide something. One that `counts` is traced and counts for
        coverage.
        """
        try:
            found = self.program(text, wanted)
        except CompileError as error:
            message = str(error)
            if not self._is_native:
                message = error.listing or f"output is expected to be of type {wanted.name}"
            return self.reject(text, path, message, shown)
        decides = wanted == BOOL if decides is None else decides
        return found.traced(self.trace.to(path), decides=decides) if counts else found

    def reject(
        self, text: str, path: Path, message: str, shown: tuple[Path, str] | None = None
    ) -> CompiledExpression:
        """Return an expression without a program, and record its problem."""
        self.problems.append(ExpressionProblem(path, text, message, shown))
        return CompiledExpression(text, None, message, self._is_native)

    def variables(self, nodes: Iterable[NamedExpression]) -> dict[str, CompiledExpression]:
        """Return variables by name; each may use those before it."""
        found: dict[str, CompiledExpression] = {}
        for node in nodes:
            one = self.compile(node.expression, (*node.path, "expression"))
            self.scope = self.scope.with_variable(node.name, one.program)
            found[node.name] = one
        return found

    def conditions(self, nodes: Iterable[NamedExpression]) -> tuple[CompiledExpression, ...]:
        """Return conditions."""
        return tuple(
            self.compile(node.expression, (*node.path, "expression"), BOOL) for node in nodes
        )

    def validations(
        self, nodes: Iterable[CelExpression], message: str = ""
    ) -> tuple[Validation, ...]:
        """Return validations; `message` is the default message."""
        found: list[Validation] = []
        for node in nodes:
            test = self.compile(node.expression, (*node.path, "expression"), BOOL)
            text, computed = node.message_expression, None
            if text:
                scope = self._leave_out_authorizer()
                place = (*node.path, "messageExpression")
                computed = self.compile(text, place, STRING, counts=not self._is_native)
                self.scope = scope
            found.append(Validation(test, node.message or message, computed))
        return tuple(found)

    def annotations(self, nodes: Iterable[NamedExpression]) -> dict[str, CompiledExpression]:
        """Return audit annotations by key.

        An API server also rejects values of dynamic type, such as a field of the object.
        upstream: k8s.io/kubernetes pkg/apis/admissionregistration/validation
        (validateAuditAnnotation)
        """
        found: dict[str, CompiledExpression] = {}
        scope = self._leave_out_authorizer()
        for node in nodes:
            path = (*node.path, "valueExpression")
            one = self.compile(node.expression, path, counts=not self._is_native)
            if one.program is not None and one.program.type not in {STRING, NULL}:
                message = "output is expected to be either of type string or null_type"
                if one.is_native:
                    kind = one.program.type
                    message = f"must evaluate to one of [string null_type] but got {kind}"
                one = self.reject(node.expression, path, message)
            found[node.name] = one
        self.scope = scope
        return found

    def _leave_out_authorizer(self) -> NativeScope | KyvernoScope:
        """Return the scope; expressions compiled from now on may not use `authorizer`.

        upstream: pkg/admission/plugin/policy/validating/plugin.go
        """
        scope = self.scope
        if isinstance(scope, NativeScope):
            self.scope = scope._replace(authorizer=False)
        return scope


def variables_on(
    variables: Mapping[str, CompiledExpression], values: Sequence[object]
) -> LazyVariables[CompiledExpression]:
    """Return the value of `variables` for one of Kyverno's kinds; `values` is to contain it."""
    return LazyVariables(struct(_KYVERNO_VARIABLES), variables, values, _variable)


def _variable(name: str, expression: CompiledExpression, values: Sequence[object]) -> Any:
    if expression.program is None:
        shown = quote(name)
        raise CelError(f"composited variable {shown} fails to compile: {expression.problem}")
    evaluate = composited if expression.is_native else plainly
    return evaluate(name, expression.program, values)


_NAMESPACE, _VARIABLES = 2, 4
"""The indexes of `namespaceObject` and `variables` among the values of native expressions."""


def native_values(
    obj: KubernetesObject | None,
    old: KubernetesObject | None,
    namespace: KubernetesObject | None,
    request: KubernetesObject | None,
    variables: Mapping[str, CompiledExpression],
    *others: object,
) -> list[object]:
    """Return the values for native expressions, in the order of their environment.

    `others` are the parameters if there are any, then the values of `authorizer`.
    """
    values = [obj, old, namespace, request, None, *others]
    values[_VARIABLES] = LazyVariables(native.VARIABLES_TYPE, variables, values, _variable)
    return values


def for_conditions(values: Sequence[object]) -> list[object]:
    """Return the values of native expressions for match conditions: without the namespace."""
    return [*values[:_NAMESPACE], None, *values[_NAMESPACE + 1 :]]


class NativeValidation(NamedTuple):
    """The validation of an API server: an admission policy, or `validate.cel`."""

    variables: Mapping[str, CompiledExpression]
    conditions: tuple[CompiledExpression, ...]
    validations: tuple[Validation, ...]

    def denial(self, values: Sequence[object]) -> str | None:
        """Return the message of the first validation that is false; raises EvaluationError."""
        for index, one in enumerate(self.validations):
            if one.test.value(values) is not True:
                return one.denial(index, values)
        return None


def all_hold(conditions: Iterable[CompiledExpression], values: Sequence[object]) -> bool:
    """Return whether every condition holds; raises EvaluationError unless one is false."""
    faults: list[str] = []
    is_native = False
    for condition in conditions:
        is_native = condition.is_native
        try:
            if condition.value(values) is not True:
                return False
        except EvaluationError as error:
            faults.append(str(error))
    if faults:
        if not is_native:
            raise EvaluationError("; ".join(faults))
        # upstream: k8s.io/apimachinery pkg/util/errors shows each error once.
        distinct = tuple(dict.fromkeys(faults))
        raise EvaluationError(distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]")
    return True


_START = "ERROR: <input>:"

_INSTEAD: Mapping[str, str] = {
    **dict.fromkeys(("and", "AND", "And"), "&&"),
    **dict.fromkeys(("or", "OR", "Or"), "||"),
    **dict.fromkeys(("= ", "=", "=="), "=="),
    "=<": "<=",
    "=>": ">=",
    "<>": "!=",
    **dict.fromkeys(("None", "nil", "Null", "NULL", "none", "undefined"), "null"),
    **dict.fromkeys(("True", "TRUE"), "true"),
    **dict.fromkeys(("False", "FALSE"), "false"),
    "length": "size",
    "len": "size",
    "any": "exists",
    "some": "exists",
    "every": "all",
    "startswith": "startsWith",
    "endswith": "endsWith",
    "includes": "contains",
    "toLower": "lowerAscii",
    "toUpper": "upperAscii",
    "lower": "lowerAscii",
    **{name: f"object.{name}" for name in ("metadata", "spec", "status", "kind")},
    "oldobject": "oldObject",
    "now": "time.now()",
    **dict.fromkeys(("userInfo", "user"), "request.userInfo"),
}
"""What CEL has instead of operators and names of other languages."""
_LOOP_NAME = re.compile(r"\.(?:all|exists|exists_one|existsOne|filter|map)\(\s*(\w+)\s*,")
_ONLY_NATIVE: Mapping[str, str] = {
    "authorizer": "only Kubernetes' own admission policies have `authorizer`",
    "params": "only Kubernetes' own admission policies, with a `paramKind`, have `params`",
}
_UNKNOWN_WORD = re.compile(
    r"(?:mismatched input|token recognition error at:|undeclared reference to) '([^']+)'"
)
_UNKNOWN_FIELD = re.compile(r"undefined field '([^']+)'")
_BY_TEXT = (
    (
        r"no matching overload for '(?:contains|startsWith|endsWith|matches)' applied to 'list",
        "a list is searched with `value in list`, or `list.exists(e, e.contains(value))`",
    ),
    (
        r"no matching overload for 'Apply' applied to 'generator\.Context\.\(list",
        "the namespace comes first: `generator.Apply(namespace, [object])`",
    ),
    (
        "no matching overload for 'Apply' applied to .*, map",
        "the second argument is a list of objects: write it in brackets",
    ),
    (
        r"invalid argument to has\(\)",
        "`has` tests a field, as `has(a.b)`: for a key write `'key' in a`",
    ),
    (
        "invalid matches argument",
        "not a regular expression: write `.*` for `*` of a wildcard, and escape with `\\\\`",
    ),
    (
        "no matching overload .*optional_type",
        "`.?` and `[?…]` give optional values: add `.orValue(…)`",
    ),
    (
        r"no matching overload .*\((?:(?:int|uint|double), string|string, (?:int|uint|double))\)",
        "numbers and strings are not compared: convert one with `int()` or `string()`",
    ),
    (
        r"no matching overload for '_[+-]_' applied to '\(kubernetes\.Quantity",
        "quantities are added with `a.add(b)` and subtracted with `a.sub(b)`",
    ),
    (
        r"no matching overload for '_[=!]=_' applied to '\((?:list\([^,]*, string|string, list)",
        "whether a list contains a value is tested with `value in list`",
    ),
    (
        r"no matching overload .*applied to '\(kubernetes\.GroupVersion(\w+), string",
        "it has fields: write `request.kind.kind` or `request.resource.resource`",
    ),
    ("expression of type 'any' cannot be range", "write `dyn(…)` around the list"),
    (
        "reserved identifier: namespace",
        "the namespace is in `namespaceObject`, its name in `object.metadata.namespace`",
    ),
    (
        r"mismatched input '\*' expecting",
        "a list has no `[*]`: write `list.all(e, …)`, `exists`, `filter` or `map`",
    ),
    (
        r"token recognition error at: '.*\\[A-Za-z]",
        r"strings have few escapes: write `[0-9]` for `\d`, or a raw string, as `r'\d'`",
    ),
    ("invalid duration argument", "durations have the units `h`, `m` and `s`: a day is `24h`"),
    (
        r"'_(?:[<>]=?|[!=]=)_' applied to '\(list\(.*\), int\)",
        "a list is no number: write `size(…)` for that of its elements",
    ),
    ("reserved identifier: if", "a choice is `condition ? a : b`"),
    ("extraneous input '[dhms]'", "a duration is a string, as `duration('72h')`"),
    (
        r"'_[<>]=?_' applied to '\(kubernetes\.(?:Quantity|Semver)",
        "write `a.isLessThan(b)`, `a.isGreaterThan(b)` or `a.compareTo(b)`",
    ),
    (
        r"applied to 'kubernetes\.Quantity\.\(string\)",
        "the argument is a quantity, too: write `quantity('1Gi')`",
    ),
    (
        r"applied to 'kubernetes\.Semver\.\(string\)",
        "the argument is a version, too: write `semver('1.0.0')`",
    ),
    ("expected to be of type Object", "write `Object{…}` instead of a map or list"),
    ("mismatched input '<EOF>' expecting ':'", "a choice has two values: `a ? b : c`"),
    ("expected to be of type list", "write a list, in brackets"),
    (
        "string or null_type|string null_type|must evaluate to string|to be of type string",
        "convert the value with `string(…)`",
    ),
    (
        "must evaluate to bool|expected to be of type bool",
        "compare the value, such as with `== true`",
    ),
)
"""Patterns of further problems, with remedies."""
_KEY_IN_BRACKETS = re.compile(r"\b(labels|annotations)\.([A-Za-z_][\w.]*[-/][\w./-]*)")


_NEAR = 0.8
_MACROS = ("all", "exists", "exists_one", "filter", "has", "map")


def _known_names(env: Environment | None) -> tuple[str, ...]:
    """Return the names of functions and variables; without environment, those of all policies."""
    known = env or native.kubernetes_environment(params=False, mutates=False)
    return (*known.functions, *(name for name, _ in known.variables), *_MACROS)


def _remedy_for_variable(name: str, names: Mapping[str, str]) -> str:
    if name in names:
        return f"a variable only reads those above it: define `{name}` before it"
    near = nearest(name, names)
    meant = f"did you mean `variables.{near}`?" if near else f"they are {listed(names)}"
    return meant if names else "the policy has no `variables`"


def _remedy(what: str, written: str, names: Mapping[str, str], env: Environment | None) -> str:
    """Return what to write instead of an expression that cannot be compiled, or ""."""
    found = _UNKNOWN_WORD.search(what)
    word = found[1] if found else ""
    key = _KEY_IN_BRACKETS.search(written)
    field = _UNKNOWN_FIELD.search(what)
    if field and f"variables.{field[1]}" in written:
        return _remedy_for_variable(field[1], names)
    if "Syntax error" in what and "{{" in written:
        return "CEL has no `{{ }}`: write names without braces, such as `object.metadata.name`"
    if word in names:
        return names[word]
    if key and "undeclared" in what:
        return f"keys with `-`, `.` or `/` are in brackets: `{key[1]}['{key[2]}']`"
    if word in _INSTEAD:
        return f"CEL has `{_INSTEAD[word]}` instead of `{word.strip()}`"
    if "Syntax error" in what and "??" in written:
        return "CEL has `?` and `:` for a choice, and `.orValue()` for a default, but no `??`"
    if "Syntax error" in what and re.search(r"\bnot\s", written):
        return "CEL has `!` instead of `not`"
    if dashed := re.search(r"\b(?:variables|attestors|attestations|images)\.\w+-\w+", written):
        return f"`{dashed[0]}` is a subtraction: name it without `-`"
    if "undeclared reference" in what:
        near = nearest(word, (*_LOOP_NAME.findall(written), *_known_names(env)), _NEAR)
        return _ONLY_NATIVE.get(word, f"did you mean `{near}`?" if near else "")
    return next((remedy for pattern, remedy in _BY_TEXT if re.search(pattern, what)), "")


def remedies(variables: Iterable[NamedExpression]) -> Mapping[str, str]:
    """Return what to write instead of the bare name of each variable of a policy."""
    return {one.name: f"the value of a variable is `variables.{one.name}`" for one in variables}


def expression_error(
    code: str,
    about: str,
    message: str,
    location: Location,
    names: Mapping[str, str] = MappingProxyType({}),
    env: Environment | None = None,
) -> Diagnostic:
    """Return an error about a policy, with the expression, a mark at the error, and a remedy.

    `message` is the listing of cel-go: the problem, followed by the lines of the expression.
    `names` are undeclared names with remedies, `env` has the names that the policy may use.
    """
    what, *lines = message.split("\n")
    text = f"{about}: {what.removeprefix(_START)}"
    excerpt = [line.strip() for line in lines]
    remedy = _remedy(what, "".join(excerpt[:1]), names, env)
    if remedy:
        excerpt.append(f"note: {remedy}")
    return Diagnostic(code, Severity.ERROR, text, location, tuple(excerpt))
