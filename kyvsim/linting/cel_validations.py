"""Checks of CEL validations and variables: constant, unreachable or unused; missing objects."""

import contextlib
import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import pairwise, permutations

from kyvsim.cel import CelBudgetError, CelError, CompileError, compile_expression
from kyvsim.cel.kubernetes import kubernetes_environment
from kyvsim.cel.nodes import Call, Ident, Literal, Loop, Node, Select, children, dotted_name
from kyvsim.cel.parser import ExpressionSyntaxError, parse
from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.discovery import is_namespaced_in_cluster
from kyvsim.kubernetes.objects import Path
from kyvsim.linting.cel_logic import constant_logic, unread_elements
from kyvsim.linting.cel_policy import (
    MUTATING,
    VALIDATING,
    CelPolicy,
    ParsedExpression,
    is_name,
    matched_kinds,
    reads_field,
    selected,
)
from kyvsim.linting.matching import matched_operations
from kyvsim.linting.release_changes import cel_places
from kyvsim.linting.requests import tests_operation
from kyvsim.model import ports
from kyvsim.model.diagnostic import Diagnostic, Severity, listed
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.request import OPERATIONS
from kyvsim.model.source import place_in_text

_READ_NAMES = frozenset({"object", "oldObject", "request", "variables"})
"""Expressions that read one of these, which are never rebound, are not constant."""
_BY_CHANCE = frozenset({"time.now", "random", "random.random"})


def constant_tests(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV240: a validation that is always true, or a condition that is always or never true."""
    for one in policy.expressions:
        value = constant_value(one, policy) if one.path[-1] == "expression" else None
        if one.list_name == "validations" and value is True and policy.kind in VALIDATING:
            text = f"`{one.text}` is always true: the validation checks nothing"
            yield policy.warn("KV240", text, one.path)
        elif one.list_name in {"matchConditions", "conditions"} and value is not None:
            effect = "it excludes nothing" if value else "the policy does nothing"
            holds = "is always true" if value else "is never true"
            text = f"the condition `{one.text}` {holds}: {effect}"
            yield policy.warn("KV240", text, one.path)
        for text in (*_unknown_operations(one), *_unlike_resources(one)):
            yield policy.warn("KV240", text, one.path)
    yield from constant_logic(policy)


def constant_value(expression: ParsedExpression, policy: CelPolicy) -> bool | None:
    """Return the value of a constant boolean expression; None for others."""
    nodes = expression.nodes()
    if any(isinstance(node, Ident) and node.name in _READ_NAMES for node in nodes):
        return None
    calls = [node for node in nodes if isinstance(node, Call)]
    if any(
        call.function in _BY_CHANCE or (call.target and call.function in {"now", "random"})
        for call in calls
    ):
        return None
    try:
        program = compile_expression(expression.text, policy.env)
        if program.reads:
            return None
        found = program.evaluate([None] * len(policy.env.variables))
    except (CompileError, CelError, CelBudgetError, ports.BudgetError):
        return None
    return found if found.__class__ is bool else None


def unreached_validations(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV241: validations after one that is never true: the first failure ends the evaluation.

    upstream: pkg/cel/policies/vpol/compiler/policy.go
    """
    for one, following in pairwise(one for one in policy.expressions if one.is_test):
        if constant_value(one, policy) is False:
            text = (
                f"this validation is never evaluated: the validation `{one.text}` before it "
                "always fails"
            )
            yield policy.warn("KV241", text, following.path)
            return


_COMMENT = re.compile(
    r"""'''.*?'''|\"{3}.*?\"{3}|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|(?P<comment>//[^\n]*)""",
    re.DOTALL,
)
"""Texts, in which `//` is no comment, and comments."""
_CODE = re.compile(r"&&|\|\||[=!<>]=|[}\])]$|\b(?:object|oldObject|request|variables)\.")


def swallowed_lines(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV241: a part of an expression that a comment hides, since YAML joins lines.

    upstream: https://github.com/google/cel-spec, doc/langdef.md: a comment ends with its line
    """
    for one in policy.expressions:
        for found in _COMMENT.finditer(one.text) if "//" in one.text else ():
            if comment := found["comment"]:
                hidden = _after_first_line(comment, found.start(), one, policy)
                if hidden and _CODE.search(hidden):
                    text = (
                        f"`{hidden}` is a part of the comment before it: YAML joins these lines, "
                        "so write `|` instead of `>`"
                    )
                    yield policy.warn("KV241", text, one.path)


def _after_first_line(comment: str, start: int, one: ParsedExpression, policy: CelPolicy) -> str:
    """Return what a comment has on later lines of the file, except comments of their own."""
    words = [*re.finditer(r"\S+", comment)]
    places = [
        place_in_text(policy.policy.document, one.path, one.text, start + word.start()).line
        for word in words
    ]
    lines = [
        " ".join(word[0] for word, place in zip(words, places, strict=True) if place == line)
        for line in sorted({*places} - {places[0]})
    ]
    return " ".join(line for line in lines if not line.startswith("//"))


def unshown_messages(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV249: a `message` that a `messageExpression` replaces.

    upstream: pkg/cel/policies/vpol/compiler/policy.go
    """
    for one in policy.spec.validations:
        if one.message and one.message_expression.strip():
            text = (
                "this message is never shown: `messageExpression` takes precedence, even if it "
                "cannot be evaluated"
            )
            yield policy.warn("KV249", text, (*one.path, "message"))


_JOINED = re.compile(r"""['"]\s*\+\s*[\w(]|[\w)\]]\s*\+\s*['"]""")
_READ = re.compile(r"\b(?:object|oldObject|request|variables|namespaceObject|string)[.(]")


_ROOT = r"\s*(?:request|object|oldObject|namespaceObject|element|images|target|variables)\b"
_TEMPLATE = re.compile(
    rf"\{{\{{(?P<braces>{_ROOT}[^{{}}]*)\}}\}}|\$\((?P<round>{_ROOT}[^()]*)\)|"
    rf"\$\{{(?P<curly>{_ROOT}[^{{}}]*)\}}"
)
"""Notations of variables that CEL does not have; other texts may be templates of other programs."""
_PLACEHOLDER = re.compile(r"(?<!%)%[sdf](?!\w)")


def templates_in_messages(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV333: a variable or expression in a message of a policy in CEL, which is shown as written.

    upstream: pkg/cel/policies/vpol/compiler/policy.go
    """
    for one in policy.spec.validations:
        problem = _message_problem(one.message)
        if problem:
            yield policy.warn("KV333", problem, (*one.path, "message"))


def _message_problem(message: str) -> str:
    if _JOINED.search(message) and _READ.search(message):
        return "`message` is shown as it is written: write `messageExpression` for an expression"
    if ("{{" in message and "}}" in message) or _TEMPLATE.search(message):
        return (
            "variables are not replaced in policies in CEL, so the message is shown as it is "
            'written: write `messageExpression`, such as `"Pod " + object.metadata.name`'
        )
    return ""


def templates_in_texts(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV333: a variable in a text of an expression, or `%s` in a message without `format`."""
    # Generated objects may be policies that have variables.
    for one in policy.expressions if policy.kind != "GeneratingPolicy" else ():
        if not any(sign in one.text for sign in ("{{", "$(", "${", "%")):
            continue
        is_formatted = "format(" in one.text or one.path[-1] != "messageExpression"
        for node in one.nodes():
            value = node.value if isinstance(node, Literal) else None
            text = ""
            if not isinstance(value, str):
                continue
            if _TEMPLATE.search(value):
                meant = _added(value)
                text = f"variables are not replaced in CEL, so this is a text: write `{meant}`"
            elif not is_formatted and (found := _PLACEHOLDER.search(value)):
                text = f"the message is shown with `{found[0]}`: write `text.format([…])`"
            if text:
                yield policy.warn("KV333", text, one.path)


def _added(text: str) -> str:
    """Return the sum in CEL that a text with variables means."""
    parts, at = [], 0
    for found in _TEMPLATE.finditer(text):
        name = next(one for one in found.groups() if one).strip()
        parts += [repr(text[at : found.start()]), name.replace("request.object.", "object.")]
        at = found.end()
    parts.append(repr(text[at:]))
    return " + ".join(one for one in parts if one != "''")


def templates_of_rules(policy: Policy) -> Iterator[Diagnostic]:
    """KV333 in `validate.cel` of rules, whose expressions and messages have no variables, either.

    upstream: pkg/engine/handlers/validation/validate_cel.go
    """
    for rule, checked in _rules_in_cel(policy):
        yield from templates_in_texts(checked)
        cel = rule.tree.validate.cel if rule.tree.validate else None
        for one in cel.expressions if cel else ():
            problem = _message_problem(one.message)
            if problem:
                yield warn(policy.document, "KV333", problem, (*one.path, "message"))


def _rules_in_cel(policy: Policy) -> Iterator[tuple[Rule, CelPolicy]]:
    """Yield the rules with `validate.cel`, and their expressions, if these can be parsed."""
    env = kubernetes_environment(params=True, mutates=True)
    for rule in policy.rules:
        cel = rule.tree.validate.cel if rule.tree.validate else None
        if cel is None:
            continue
        found = [
            ((*one.path, "expression"), one.expression)
            for every in (cel.variables, rule.tree.cel_preconditions or (), cel.expressions)
            for one in every
        ]
        found += [
            ((*one.path, "messageExpression"), one.message_expression) for one in cel.expressions
        ]
        with contextlib.suppress(ExpressionSyntaxError):
            parsed = tuple(
                ParsedExpression(path, text, parse(text, env.macros))
                for path, text in found
                if text
            )
            yield rule, CelPolicy(policy, env, parsed)


def _unknown_operations(expression: ParsedExpression) -> Iterator[str]:
    """Yield the comparisons of `request.operation` with a string that is not an operation."""
    for node in expression.nodes() if "operation" in expression.text else ():
        if not isinstance(node, Call) or node.function not in {"_==_", "_!=_", "@in"}:
            continue
        if not any(dotted_name(argument) == "request.operation" for argument in node.arguments):
            continue
        for value in (each for argument in node.arguments for each in _strings(argument)):
            if value not in OPERATIONS:
                near = value.upper().removesuffix("D")
                hint = f": write `'{near}'`" if near in OPERATIONS else ""
                every = ", ".join(OPERATIONS)
                yield f"`request.operation` is never `'{value}'`{hint} ({every})"


def _unlike_resources(expression: ParsedExpression) -> Iterator[str]:
    """Yield the comparisons of a resource with a kind, of a kind with a resource, and the like."""
    for node in expression.nodes() if "request." in expression.text else ():
        if not isinstance(node, Call) or node.function not in {"_==_", "_!=_", "@in"}:
            continue
        name = next((one for one in map(dotted_name, node.arguments) if one in _FORMS), "")
        form, noun, example = _FORMS.get(name, ("", "", ""))
        for value in (each for argument in node.arguments for each in _strings(argument)):
            if form and not re.fullmatch(form, value):
                yield f"`{name}` is never `'{value}'`: it is {noun}, such as `'{example}'`"


_RESOURCE = (r"[a-z0-9./-]*", "a plural in lower case", "deployments")
_KIND = (r"(?:[A-Z]\w*)?", "a kind", "Deployment")
_GROUP = (r"(?!v\d+$)[a-z0-9.-]*", "a group without a version", "apps")
_FORMS: Mapping[str, tuple[str, str, str]] = {
    f"request.{whole}.{field}": form
    for field, form, wholes in (
        ("resource", _RESOURCE, ("resource", "requestResource")),
        ("kind", _KIND, ("kind", "requestKind")),
        ("group", _GROUP, ("resource", "requestResource", "kind", "requestKind")),
    )
    for whole in wholes
}
"""The form of what requests have in some fields, the noun for it, and an example."""


def _strings(node: Node) -> Iterator[str]:
    for one in (node, *children(node)):
        if isinstance(one, Literal) and isinstance(one.value, str):
            yield one.value


_EPHEMERAL = "pods/ephemeralcontainers"
_LISTS = frozenset(
    f"{name}.{spec}.containers"
    for name in ("object", "request.object")
    for spec in ("spec", "spec.template.spec", "spec.jobTemplate.spec.template.spec")
)
_SHARED = frozenset({"image", "securityContext"})
"""Fields that are relevant for all types of containers, unlike probes, ports and others."""
_WORKLOADS = frozenset(
    {
        *("Pod", "Deployment", "DaemonSet", "ReplicaSet", "StatefulSet", "Job", "CronJob"),
        *("ReplicationController", "PodTemplate"),
    }
)


def container_checks(policy: CelPolicy) -> Iterator[tuple[Path, list[str]]]:
    """Yield the validations that check each of `containers`, in policies for Pods.

    Each path comes with the fields of containers that the validation checks.
    """
    kinds = {one.kind for one in matched_kinds(policy.spec, frozenset({_EPHEMERAL}))}
    if policy.kind not in VALIDATING or not kinds or not kinds <= _WORKLOADS:
        return
    names = {(*one.path, "expression"): one.name for one in policy.spec.variables}
    variables = {
        f"variables.{names[one.path]}"
        for one in policy.expressions
        if one.path in names and dotted_name(one.root) in _LISTS
    }
    for one in policy.expressions:
        if one.is_test:
            lists = _LISTS | variables
            fields = {field for node in one.nodes() for field in _demanded(node, lists)}
            if fields:
                yield one.path, sorted(fields)


def names_anywhere(value: object, *words: str) -> bool:
    """Return whether a string in a specification contains one of some words, ignoring case."""
    if isinstance(value, str):
        return any(word in value.lower() for word in words)
    if isinstance(value, dict):
        return any(names_anywhere(one, *words) for one in value.values())
    return isinstance(value, list) and any(names_anywhere(one, *words) for one in value)


def _demanded(node: Node, lists: frozenset[str]) -> Iterator[str]:
    inner, wanted = node, "all"
    if isinstance(node, Call) and node.function == "!_":
        inner, wanted = node.arguments[0], "exists"
    if not isinstance(inner, Loop) or inner.kind != wanted:
        return
    if dotted_name(inner.source) not in lists:
        return
    pending = [one for one in (inner.test, inner.result) if one is not None]
    while pending:
        here = pending.pop()
        pending += children(here)
        shared = isinstance(here, Select) and here.field in _SHARED and here
        if shared and is_name(shared.operand, inner.variables[-1]):
            yield shared.field


def only_containers(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV257: a check of `containers` in a policy that does not mention `initContainers`."""
    if names_anywhere(policy.spec.data, "initcontainer", "allcontainer"):
        return
    for path, names in container_checks(policy):
        text = (
            f"only `containers` are checked for {listed(names)}: nothing in the policy "
            "mentions `initContainers`"
        )
        yield policy.warn("KV257", text, path)


def ephemeral_containers(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV264: a policy that matches `pods/ephemeralcontainers` but does not check these.

    Requests for that resource do not change other parts of a Pod.
    """
    texts = [one.text for one in policy.expressions]
    if names_anywhere(texts, "ephemeral", "allcontainer", "subresource"):
        return
    if not any(container_checks(policy)):
        return
    for rule in policy.spec.resource_rules:
        if _EPHEMERAL in rule.resources:
            text = (
                "no expression of the policy mentions `ephemeralContainers`: containers that "
                f"are added through `{_EPHEMERAL}` are not checked"
            )
            path = (*rule.path, "resources", rule.resources.index(_EPHEMERAL))
            yield policy.warn("KV264", text, path)


def unread_variables(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV242: a variable that no expression reads, or an element that its loop does not read."""
    yield from unread_elements(policy)
    # Other kinds have expressions in other fields, too.
    if policy.kind not in {*VALIDATING, *MUTATING, "DeletingPolicy"} or not policy.expressions:
        return
    whole, named = 0, set()
    for one in policy.expressions:
        for node in one.nodes():
            whole += is_name(node, "variables")
            if isinstance(node, Select) and is_name(node.operand, "variables"):
                named.add(node.field)
                whole -= 1
    if whole:
        return  # an expression uses all of them as a map
    for variable in policy.spec.variables:
        if variable.name not in named:
            text = f"the variable `{variable.name}` is never used"
            yield policy.warn("KV242", text, (*variable.path, "name"))


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_EXCLUDING = re.compile(r"exclu(d.*|sions?)|skip(s|ped)?|ignor(e[sd]?|ing)|exempt\w*|except")
_REVERSING = re.compile(r"not?|non.*|un.*|without|missing|absent|empty|only|other|others|outside")
_NEGATING = frozenset({"not", "no", "non"})
_NEGATIONS = frozenset({"!_", "_!=_", "_<_", "_<=_", "_>_", "_>=_", "_?_:_"})
_SELECTING = frozenset({"_==_", "@in", "startsWith", "endsWith", "contains", "matches"})
_FALSE = (False, None, 0, "", "false", "no", "none", "disabled")


def selecting_conditions(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV384: a condition whose name excludes what its test selects.

    upstream: pkg/cel/policies/vpol/compiler/policy.go: conditions must be true for an evaluation
    """
    conditions = policy.spec.match_conditions
    if policy.kind == "DeletingPolicy":
        conditions = (*conditions, *policy.spec.conditions)
    by_path = {one.path: one for one in policy.expressions} if conditions else {}
    for condition in conditions:
        one = by_path.get((*condition.path, "expression"))
        if one is None or not _selects(one):
            continue
        words = [word.lower() for word in _WORD.findall(condition.name)]
        reversing = [word for word in words if _REVERSING.fullmatch(word)]
        named = {word.lower() for text in _texts(one) for word in _WORD.findall(text)}
        if any(map(_EXCLUDING.fullmatch, words)):
            is_reversed = bool(reversing)
        else:
            # Such as `not-default` with a test for `default`.
            is_reversed = len(reversing) != 1 or named.isdisjoint({*words} - _NEGATING)
            is_reversed = is_reversed or reversing[0] not in _NEGATING
        if not is_reversed:
            text = (
                f"the condition `{condition.name}` selects what its name excludes: the policy only "
                f"applies where `{one.text.strip()}` is true (negate it with `!(…)`)"
            )
            yield policy.warn("KV384", text, one.path)


def _selects(one: ParsedExpression) -> bool:
    """Return whether an expression only has tests that are not negated."""
    calls = [node for node in one.nodes() if isinstance(node, Call)]
    if any(call.function in _NEGATIONS for call in calls):
        return False
    for call in calls:
        given = [each.value for each in call.arguments if isinstance(each, Literal)]
        if call.function == "_==_" and any(value in _FALSE for value in given):
            return False
    has = any(isinstance(node, Select) and node.test for node in one.nodes())
    return has or any(call.function in _SELECTING for call in calls)


def _texts(one: ParsedExpression) -> Iterator[str]:
    return (text for node in one.nodes() for text in _strings(node))


def null_objects(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV247: `object` or `oldObject` compared with null: a missing object is an empty map.

    upstream: pkg/cel/policies/vpol/engine/engine.go
    """
    if policy.kind != "ValidatingPolicy" or policy.spec.evaluation.mode != "Kubernetes":
        return
    for one in policy.expressions:
        for name in dict.fromkeys(filter(None, map(_compared, one.nodes()))):
            text = (
                f"`{name}` is never null: without such an object it is an empty map (test "
                f"`request.operation` or `has({name}.metadata)`)"
            )
            yield policy.warn("KV247", text, one.path)


def _compared(node: Node) -> str:
    if not isinstance(node, Call) or node.function not in {"_==_", "_!=_"}:
        return ""
    for left, right in permutations(node.arguments):
        if isinstance(right, Literal) and right.value is None:
            return next((name for name in ("object", "oldObject") if is_name(left, name)), "")
    return ""


def absent_objects(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV248: a field of an object that does not exist for the policy's only operation.

    For Kyverno's policies it is an empty map without fields; for Kubernetes' own it is null, for
    which a policy may test.

    upstream: pkg/cel/policies/vpol/engine/engine.go
    """
    if policy.kind in VALIDATING:
        # A rule without operations matches no request.
        operations = {name for rule in policy.spec.resource_rules for name in rule.operations}
        yield from _fields_of_absent(policy, operations, "policy")


def absent_objects_of_rules(policy: Policy) -> Iterator[Diagnostic]:
    """KV248 in `validate.cel` of rules, whose missing objects are null.

    upstream: pkg/engine/handlers/validation/validate_cel.go
    """
    for rule, checked in _rules_in_cel(policy):
        if not tests_operation(rule.tree):
            # Only rules that name deletions are certainly meant for them.
            named = {name for one in rule.tree.match.effective for name in one.operations or ()}
            operations = matched_operations(rule.tree.match) - ({"DELETE"} - named)
            yield from _fields_of_absent(checked, operations, "rule")


def _fields_of_absent(
    policy: CelPolicy, operations: AbstractSet[str], noun: str
) -> Iterator[Diagnostic]:
    """Yield reads of an object that requests for one of some operations do not have."""
    for operation, absent, remedy in (
        ("CREATE", "oldObject", "match only UPDATE"),
        ("DELETE", "object", "read `oldObject`"),
    ):
        only = operations == {operation}
        if operations.isdisjoint({operation, "*"}) or not policy.reads(absent):
            continue
        if not only and policy.mentions("operation"):
            continue
        if (policy.kind != "ValidatingPolicy" or not only) and not policy.only_reads_fields(absent):
            continue
        for one in policy.expressions:
            if any(reads_field(node, absent) for node in one.nodes()):
                which = "the only operation that" if only else "which"
                also = "" if only else " also"
                guard = "" if only else ", or first test `request.operation`"
                text = (
                    f"`{absent}` has no fields at {operation}, {which} the {noun}{also} matches: "
                    f"{remedy}{guard}"
                )
                yield policy.warn("KV248", text, one.path)


def old_objects_of_deletions(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV248: a field of `oldObject` or `request` in a DeletingPolicy, which has no request.

    upstream: pkg/cel/policies/dpol/engine
    """
    for one in policy.expressions if policy.kind == "DeletingPolicy" else ():
        if any(reads_field(node, "oldObject") for node in one.nodes()):
            text = "`oldObject` has no fields, since no request starts a deletion: use `object`"
            yield policy.warn("KV248", text, one.path)
        if any(reads_field(node, "request") for node in one.nodes()):
            text = (
                "`request` has no fields, since no request starts a deletion: use `object`, such "
                "as `object.metadata.namespace`"
            )
            yield policy.warn("KV248", text, one.path)


_NAMESPACE = "namespaceObject"
_NAMESPACE_GUARDS = frozenset({"kind", "resource", "namespace", "requestKind", "requestResource"})
"""Fields that distinguish namespaced objects from others."""


def unguarded_namespaces(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV262: a field of `namespaceObject` for a cluster-scoped object.

    upstream: pkg/cel/policies/vpol/engine/engine.go, only for requests with a namespace
    """
    if policy.kind not in {*VALIDATING, *MUTATING, "GeneratingPolicy"}:
        return
    kinds = matched_kinds(policy.spec)
    outside = [one.kind for one in kinds if not is_namespaced_in_cluster(one.group, one.kind)]
    # The namespace of a request for a Namespace is its own name.
    if not outside or "Namespace" in outside or not policy.only_reads_fields(_NAMESPACE):
        return
    fields = {node.field for node in policy.nodes() if isinstance(node, Select)}
    if not fields.isdisjoint(_NAMESPACE_GUARDS):
        return
    for one in policy.expressions:
        if any(reads_field(node, _NAMESPACE) for node in one.nodes()):
            text = (
                f"`{_NAMESPACE}` has no fields for a {outside[0]}, which is cluster-scoped (test "
                f"`{_NAMESPACE} != null` first)"
            )
            yield policy.warn("KV262", text, one.path)


_OPERATORS = frozenset(f"_{sign}_" for sign in "+-*/%")
_OBJECT_FIELDS = ("object.", "oldObject.", "request.object.", "request.oldObject.")


def forbidden_variables(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV162: a variable because of which a cluster rejects a namespaced policy."""
    for name, why in policy.forbidden:
        # A flag of Kyverno allows `http`, and only warnings can be ignored.
        severity = Severity.WARNING if name == "http" else Severity.ERROR
        for place in cel_places(policy.policy, partial(is_name, name=name)):
            yield Diagnostic("KV162", severity, f"spec: Forbidden: {why}", place)


def number_arithmetic(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV252: arithmetic with an int and a field of an object, a double outside of clusters.

    upstream: cmd/cli/kubectl-kyverno/resource reads all numbers of objects as float64
    """
    if policy.kind not in VALIDATING:
        return
    for one in policy.expressions:
        for name, shown in dict.fromkeys(filter(None, map(_mixed, one.nodes()))):
            text = (
                f"`{shown}` is an error for objects read from files, because their numbers are "
                f"doubles; in a cluster they are integers: use `int({name})`, which works in both "
                "cases"
            )
            instead = (shown, shown.replace(name, f"int({name})"))
            yield policy.warn("KV252", text, one.path, instead=instead)


def _mixed(node: Node) -> tuple[str, str] | None:
    if not isinstance(node, Call) or node.function not in _OPERATORS or len(node.arguments) != 2:
        return None
    names = [selected(one) for one in node.arguments]
    for number, name in zip(reversed(node.arguments), names, strict=True):
        is_whole = isinstance(number, Literal) and number.value.__class__ is int
        if is_whole and name.startswith(_OBJECT_FIELDS):
            left, right = (text or number.value for text in names)
            return name, f"{left} {node.function.strip('_')} {right}"
    return None
