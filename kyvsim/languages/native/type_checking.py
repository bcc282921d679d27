"""Type checking of expressions by the schemas of the kinds that a policy matches.

An API server compiles expressions without the types of `object`, `oldObject` and `params`, and only
warns if they do not fit those: in the status of ValidatingAdmissionPolicies. Kyverno does the same
with the rules in CEL of ClusterPolicies.

upstream: k8s.io/apiserver pkg/admission/plugin/policy/validating/typechecking.go
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from kyvsim.cel import CompileError, Environment, Program, compile_expression
from kyvsim.cel import kubernetes as native
from kyvsim.cel.libraries.standard import LENIENT_OR_VALUE
from kyvsim.cel.types import BOOL, DYN, CelType
from kyvsim.kubernetes.discovery import KindTable, kinds_named, plural
from kyvsim.model.policy import Policy
from kyvsim.policy.cel_policy import CelExpression, ParamKind
from kyvsim.policy.tree import NamedExpression
from kyvsim.schema.cel_types import FieldTypes, object_fields, root_type

_MOST_KINDS = 10


class MatchedResources(NamedTuple):
    """The resources of a rule in the match constraints of a policy."""

    groups: Sequence[str]
    versions: Sequence[str]
    resources: Sequence[str]


class TypeChecker(NamedTuple):
    """The environments of a policy's expressions, one for each kind with a known schema."""

    environments: tuple[tuple[str, Environment], ...]
    """With the kind as upstream shows it: `GROUP/VERSION, Kind=KIND`."""

    def warning(self, expression: str) -> str:
        """Return what does not fit, for each kind in lines that end with an empty one, or ""."""
        errors = ((kind, _compiled(expression, env)) for kind, env in self.environments)
        return "\n".join(
            f"{kind}: {error.listing}\n"
            for kind, error in errors
            if isinstance(error, CompileError) and error.issues
        )

    def warnings(self, validations: Iterable[CelExpression]) -> Iterator[tuple[int, str, str]]:
        """Yield index, field and warning of the expressions of validations that do not fit."""
        for index, one in enumerate(validations):
            fields = (("expression", one.expression), ("messageExpression", one.message_expression))
            for field, text in fields:
                warning = self.warning(text) if text else ""
                if warning:
                    yield index, field, warning


def condition_faults(policy: Policy) -> str:
    """Return why a cluster rejects the webhook's match conditions, "" if it does not."""
    faults = []
    for _, text in policy.facts.webhook_conditions:
        try:
            compile_expression(text, native.kubernetes_environment(), BOOL)
        except CompileError as fault:
            faults.append(str(fault))
    return f"match conditions compilation errors: [{' '.join(faults)}]" if faults else ""


def type_checker(
    matched: Iterable[MatchedResources],
    param_kind: ParamKind | None,
    variables: Sequence[NamedExpression],
    kinds: KindTable,
) -> TypeChecker:
    """Return the type checker for the expressions of a policy; `kinds` are those of CRDs."""
    params = param_kind and object_fields(param_kind.api_version, param_kind.kind, kinds)
    environments = []
    for group, version, kind in sorted(_matched_kinds(matched, kinds)):
        fields = object_fields(f"{group}/{version}" if group else version, kind, kinds)
        if fields is None:
            continue
        typed: dict[str, CelType] = dict.fromkeys(("object", "oldObject"), root_type(kind))
        if param_kind is not None:
            typed["params"] = DYN if params is None else root_type(param_kind.kind)
        env = _environment(typed, {**fields, **(params or {})})
        environments.append((f"{group}/{version}, Kind={kind}", _with_variables(env, variables)))
    return TypeChecker(tuple(environments))


def _matched_kinds(
    matched: Iterable[MatchedResources], kinds: KindTable
) -> frozenset[tuple[str, str, str]]:
    """Return group, version and kind of the resources without wildcards, of some of them if many.

    Subresources are ignored.
    """
    found: set[tuple[str, str, str]] = set()
    for one in matched:
        if any("*" in name for name in (*one.groups, *one.versions)):
            continue
        named = sorted(name.lower() for name in one.resources if not {"*", "/"} & set(name))
        count = 0
        for group, version, name in product(sorted(one.groups), sorted(one.versions), named):
            for owner, kind in kinds_named(name, kinds):
                # As in upstream, the group "" stands for all groups.
                if group in {"", owner} and name in {plural(owner, kind, kinds), kind.lower()}:
                    found.add((owner, version, kind))
                    count += 1
            if count >= _MOST_KINDS:
                return frozenset(found)
    return frozenset(found)


def _environment(typed: dict[str, CelType], fields: FieldTypes) -> Environment:
    env = native.kubernetes_environment(params="params" in typed, authorizer=True)
    variables = (
        (name, typed.get(name, kind))
        for name, kind in env.variables
        # Upstream's environment for type checking has only the authorizer itself.
        if name != "authorizer.requestResource"
    )
    # What Kyverno adds to the environment in which it evaluates native expressions.
    macros = env.macros - {LENIENT_OR_VALUE.macros}
    every = {**env.fields, **fields}
    return env._replace(variables=tuple(variables), fields=every, macros=macros)


def _with_variables(env: Environment, variables: Iterable[NamedExpression]) -> Environment:
    """Return the environment with the types of a policy's variables; some are not kept."""
    types: dict[str, CelType] = {}
    for one in variables:
        found = _compiled(one.expression, env.with_fields(native.VARIABLES, types))
        kind = native.declared_type(found.type) if isinstance(found, Program) else DYN
        types = {**types, one.name: kind}
    return env.with_fields(native.VARIABLES, types)


def _compiled(text: str, env: Environment) -> Program | CompileError:
    try:
        return compile_expression(text, env)
    except CompileError as error:
        return error
