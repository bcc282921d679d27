"""`mutate.targets`: existing objects are patched because of a trigger, which is not changed.

Source of the rules: upstream pkg/engine/handlers/mutation/mutate_existing.go and load_targets.go,
pkg/clients/dclient/helpers.go.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from kyvsim.engine.compile.compiled import CompiledBody, Evaluation, Outcome, errored, skipped
from kyvsim.engine.conditions import ConditionError, ConditionsResult, compile_conditions
from kyvsim.engine.context import MISSING_INPUT, EntryLoader, JSONContext, compile_entries
from kyvsim.jmespath import QueryError, Template, compile_template
from kyvsim.kubernetes.discovery import plural, split_api_version
from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import Json, KubernetesObject, labels, object_key
from kyvsim.kubernetes.wildcard import has_wildcard, matches
from kyvsim.languages.classic.rule_type import RuleContext, RuleType
from kyvsim.languages.classic.rules.mutate_foreach import compile_loops
from kyvsim.languages.classic.rules.mutate_resource import apply_rule_patch, compile_rule_patch
from kyvsim.model.background import MutationTarget
from kyvsim.model.policy import RuleFacts
from kyvsim.model.ports import ClusterView
from kyvsim.model.result import PatchedTarget, Phase, RuleStatus
from kyvsim.policy.rule import PolicyNode, RuleNode


def _find_targets(
    selector: Mapping[str, Json], namespace: str, cluster: ClusterView
) -> list[KubernetesObject]:
    """Return the objects of a target; raise `LookupError` if a required one is missing.

    `namespace` replaces the one in the target. A name and a namespace without
    wildcards select one object, whatever the selector is. Raises `SelectorError` if the
    selector is invalid.
    """
    # For a subresource, upstream's fake API returns the whole object, which is patched here, too.
    kind = (selector.get("kind") or "").partition("/")[0]
    api_version, name = (selector.get(key) or "" for key in ("apiVersion", "name"))
    group = split_api_version(api_version)[0]
    is_fixed = api_version and not has_wildcard(api_version)
    given: list[tuple[str, str]] = []
    for known_version, known_kind in cluster.kinds():
        # Objects are read in the target's version.
        if not matches(kind, known_kind):
            continue
        if matches(api_version, known_version):
            given.append((known_version, known_kind))
        elif is_fixed and split_api_version(known_version)[0] == group:
            given.append((api_version, known_kind))
    given = list(dict.fromkeys(given))
    if name and namespace and not has_wildcard(name + namespace):
        found = [one for pair in given if (one := cluster.get(*pair, namespace, name)) is not None]
        if len(found) < len(given) or not found:
            resource = ".".join(filter(None, (plural(group, kind), group)))
            raise LookupError(f'{resource} "{name}" not found')
        return found
    if not given:
        raise LookupError("not found")
    # Wildcards are literal label values, as in the API.
    chosen = selector.get("selector") or {}
    equal = [
        {"key": key, "operator": "In", "values": [value]}
        for key, value in (chosen.get("matchLabels") or {}).items()
    ]
    expressions = [*equal, *(chosen.get("matchExpressions") or ())]
    selects = compile_selector({"matchExpressions": expressions})
    return [
        obj
        for pair in given
        for obj in cluster.list(*pair, "")
        if (not namespace or matches(namespace, object_key(obj).namespace))
        and (not name or matches(name, object_key(obj).name))
        and selects(labels(obj))
    ]


def _hint_for_missing(selector: Mapping[str, Json], namespace: str) -> str:
    kind, name = (str(selector.get(key) or "") for key in ("kind", "name"))
    named = f'{kind} "{name}"' if name else kind
    where = f' in namespace "{namespace}"' if namespace else ""
    blank = any(one != one.strip() for one in (name, namespace))
    odd = " (with a blank at the start or end)" if blank else ""
    return (
        f"{MISSING_INPUT}there is no {named}{where}{odd} among the target resources: pass it "
        "with --target-resource, in tests as `targetResources`"
    )


class _CompiledTarget(NamedTuple):
    selector: Template
    subresource: str
    """The written subresource, such as `status`; "" for the whole object."""
    entries: tuple[tuple[str, EntryLoader], ...]
    preconditions: Callable[[JSONContext], ConditionsResult] | None


def _find_all(
    targets: list[_CompiledTarget], scope: JSONContext
) -> tuple[list[tuple[_CompiledTarget, KubernetesObject]], list[str]]:
    """Return each target with an object that it selects, and the errors of others."""
    found: list[tuple[_CompiledTarget, KubernetesObject]] = []
    problems: list[str] = []
    for index, target in enumerate(targets):
        try:
            selector = target.selector.render(scope)
            # A namespaced policy reaches only into its own namespace.
            namespace = scope.policy_namespace or selector.get("namespace") or ""
            try:
                objects = _find_targets(selector, namespace, scope.external.cluster)
            except LookupError:
                if not scope.external.account:
                    scope.hints.append(_hint_for_missing(selector, namespace))
                raise
            found += [(target, obj) for obj in objects]
        except QueryError as error:
            problems.append(f"failed to substitute variables in target[{index}]: {error.message}")
        except (LookupError, SelectorError) as error:
            problems.append(str(error.args[0]))
    if not (found or problems or scope.external.account):
        scope.hints.append(
            f"{MISSING_INPUT}no target resource has the namespace, name and labels that `targets` "
            "select: pass it with --target-resource, in tests as `targetResources`"
        )
    return found, problems


def _compile_patch(
    context: RuleContext,
) -> Callable[[JSONContext, Evaluation, KubernetesObject], Outcome]:
    mutate = context.rule.tree.mutate
    if mutate and mutate.foreach is not None:
        run = compile_loops(context.within("mutate", "foreach"), mutate.foreach)
        return lambda scope, _evaluation, obj: run(scope, obj)
    if not mutate or (mutate.patch_strategic_merge is None and not mutate.patches_json6902):
        return lambda _scope, _evaluation, _obj: errored("empty mutate rule")
    patch = compile_rule_patch(context)

    def patch_target(scope: JSONContext, evaluation: Evaluation, obj: KubernetesObject) -> Outcome:
        return apply_rule_patch(patch, evaluation._replace(scope=scope, object=obj), obj)

    return patch_target


def _compile(context: RuleContext) -> CompiledBody:
    system, targets = context.system, []
    mutate = context.rule.tree.mutate
    for target in (mutate and mutate.targets) or ():
        trace = context.trace.to(target.path)
        targets.append(
            _CompiledTarget(
                compile_template(target.selection, system),
                target.kind.partition("/")[2],
                compile_entries(target.context, system, trace),
                compile_conditions(target.preconditions, system, trace.at("preconditions"))
                if target.preconditions is not None
                else None,
            )
        )
    patch = _compile_patch(context)

    def outcomes(evaluation: Evaluation) -> Iterator[Outcome]:
        found, problems = _find_all(targets, evaluation.scope)
        if problems:
            yield errored("", "; ".join(problems))
        for target, obj in found:
            # Every target starts from the trigger's scope, without the values of the previous
            # target, which upstream leaves in it.
            seen = evaluation.scope.external.as_json(obj)
            scope = evaluation.scope.layer({"target": seen}, target.entries)
            patched = None
            if target.preconditions is not None:
                try:
                    result = target.preconditions(scope)
                except ConditionError as error:
                    patched = errored("failed to evaluate preconditions", error)
                else:
                    texts = ("preconditions not met", result.messages)
                    patched = None if result.met else skipped("; ".join(filter(None, texts)))
            patched = patched or patch(scope, evaluation, obj)
            changes: tuple[PatchedTarget, ...] = ()
            if patched.status is RuleStatus.PASS:
                after: Json = patched.object  # a patch may leave null
                part = target.subresource
                changes = (PatchedTarget(after, changed=True, before=obj, subresource=part),)
            # The trigger is not changed.
            yield patched._replace(object=None, targets=changes)

    def evaluate(evaluation: Evaluation) -> Outcome | None:
        first, *further = [*outcomes(evaluation)] or (None,)
        return first._replace(further=tuple(filter(None, further))) if first else None

    return evaluate


def _facts(facts: RuleFacts, rule: RuleNode, policy: PolicyNode) -> RuleFacts:
    on_update = rule.mutate and rule.mutate.mutate_existing_on_policy_update
    of_policy = policy.mutate_existing_on_policy_update
    return facts._replace(
        targets=tuple(
            MutationTarget(one.api_version, one.kind, one.namespace, one.name)
            for one in (rule.mutate and rule.mutate.targets) or ()
        ),
        spares_triggers=True,
        mutates_on_update=on_update is True,
        runs_on_policy_update=(of_policy if on_update is None else on_update) is True,
    )


RULE_TYPE = RuleType(
    ("mutate", "targets"), Phase.MUTATE, _compile, counts=lambda _: False, facts=_facts
)
