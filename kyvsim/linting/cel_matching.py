"""Checks of the matching of CEL policies, and of their autogen variants for Pod controllers."""

import re
from collections.abc import Iterable, Iterator, Mapping

from kyvsim.cel.nodes import Call, Literal, Node, Select, StructLiteral, dotted_name
from kyvsim.cel.unparse import written
from kyvsim.kubernetes.discovery import is_namespaced
from kyvsim.kubernetes.labels import is_label, unselectable_label
from kyvsim.kubernetes.objects import metadata, text_field
from kyvsim.linting.cel_logic import demands
from kyvsim.linting.cel_policy import VALIDATING, CelPolicy, is_name, matched_kinds, selected
from kyvsim.linting.matching import own_namespace_problem
from kyvsim.model.diagnostic import Diagnostic, listed
from kyvsim.policy.cel_autogen import custom_workload
from kyvsim.policy.cel_policy import MatchConstraints, ResourceRule


def no_constraints(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV250: a policy without `matchConstraints`; KV255: one whose constraints have no rule.

    Such policies match nothing here, or everything. upstream: pkg/cel/matching
    """
    if policy.spec.evaluation.mode != "Kubernetes":
        return
    constraints = policy.spec.match_constraints
    if constraints is not None and not constraints.resource_rules:
        text = (
            "the policy evaluates objects of every kind: `matchConstraints` has no "
            "`resourceRules` (a cluster rejects the policy)"
        )
        yield policy.warn("KV255", text, constraints.path)
    if constraints is None and policy.kind in {"ValidatingPolicy", "GeneratingPolicy"}:
        text = (
            "the policy matches nothing: `matchConstraints` is missing "
            "(a cluster rejects the policy)"
        )
        yield policy.warn("KV250", text, ("spec",))


def no_conditions(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV256: a DeletingPolicy without `conditions`, selectors and names.

    upstream: pkg/cel/policies/dpol/compiler/policy.go
    """
    constraints = policy.spec.match_constraints
    if policy.kind != "DeletingPolicy" or policy.spec.conditions or constraints is None:
        return
    rules = constraints.resource_rules
    narrowed = constraints.selects_objects or constraints.selects_namespaces
    if rules and not narrowed and not any(rule.resource_names for rule in rules):
        text = "the policy deletes every object of the kinds it names: it has no `conditions`"
        yield policy.warn("KV256", text, ("spec",))


_GROUP_AND_VERSION = re.compile(r"(?:([\w.-]+)/)?(v\d+(?:(?:alpha|beta)\d+)?)")


def versions_as_groups(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV332: a version in `apiGroups`, or a group in `apiVersions`, so that nothing matches."""
    constraints = policy.spec.match_constraints
    if constraints is None:
        return
    for rule in (*constraints.resource_rules, *constraints.exclude_resource_rules):
        for name, texts in (("apiGroups", rule.api_groups), ("apiVersions", rule.api_versions)):
            for index, text in enumerate(texts):
                found = _GROUP_AND_VERSION.fullmatch(text)
                if found is None or (name == "apiVersions" and found[1] is None):
                    continue
                group = found[1] or '""'
                problem = (
                    f"nothing matches `{text}` here: write `apiGroups: [{group}]` and "
                    f"`apiVersions: [{found[2]}]`"
                )
                own = found[1] or "", found[2]
                meant, other = own if name == "apiGroups" else own[::-1]
                beside = rule.api_versions if name == "apiGroups" else rule.api_groups
                instead = (text, meant) if {other, "*"} & {*beside} else None
                yield policy.warn("KV332", problem, (*rule.path, name, index), instead=instead)


def values_beside_wildcards(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV343: other values beside `*`, with which an API server rejects policies and webhooks.

    upstream: k8s.io/kubernetes pkg/apis/admissionregistration/validation/validation.go
    """
    for rule in policy.spec.resource_rules:
        for name, texts in (
            ("operations", rule.operations),
            ("apiGroups", rule.api_groups),
            ("apiVersions", rule.api_versions),
            ("resources", tuple(one for one in rule.resources if "/" not in one)),
        ):
            if "*" in texts and len(texts) > 1:
                text = (
                    f"an API server rejects `{name}` with `*` and other values: write `*` alone, "
                    "or only the others"
                )
                yield policy.warn("KV343", text, (*rule.path, name))


def never_applied(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV270: constraints that exclude each other, or a policy that is evaluated at no time."""
    evaluation = policy.spec.evaluation
    instead = {"MutatingPolicy": evaluation.mutate_existing}.get(
        policy.kind,
        evaluation.generate_existing
        if policy.kind == "GeneratingPolicy"
        else evaluation.background is not False,
    )
    if evaluation.admission is False and not instead and policy.kind != "DeletingPolicy":
        text = (
            "the policy is never evaluated: it is disabled for admission requests, and for "
            "existing objects"
        )
        yield policy.warn("KV270", text, ("spec", "evaluation"))
    constraints = policy.spec.match_constraints
    if constraints is None:
        return
    rules, excluded = constraints.resource_rules, constraints.exclude_resource_rules
    if rules and all(any(_covers(out, one) for out in excluded) for one in rules):
        text = (
            "the policy never matches: `excludeResourceRules` excludes everything that it matches"
        )
        path = (*constraints.path, "excludeResourceRules")
        yield policy.warn("KV270", text, path)
    yield from _rules_without_requests(policy, rules)
    yield from _impossible_namespaces(policy, constraints)
    for name, selector in (
        ("objectSelector", constraints.object_selector),
        ("namespaceSelector", constraints.namespace_selector),
    ):
        key = unselectable_label(selector or {})
        if key:
            text = f"the policy never matches: no value of the label `{key}` is selected"
            yield policy.warn("KV270", text, (*constraints.path, name))


def _impossible_namespaces(
    policy: CelPolicy, constraints: MatchConstraints
) -> Iterator[Diagnostic]:
    expressions = (constraints.namespace_selector or {}).get("matchExpressions") or ()
    for index, one in enumerate(expressions):
        named = one.get("key") == "kubernetes.io/metadata.name"
        for name in one.get("values") or () if named else ():
            if not is_label(str(name)):
                text = f"no namespace has the name `{name}`: names have lower case and no wildcards"
                path = (*constraints.path, "namespaceSelector", "matchExpressions", index)
                yield policy.warn("KV270", text, (*path, "values"))


_NAMESPACE = re.compile(
    r"(object|oldObject)\.metadata\.\??namespace(\.orValue\(.*\))?|request\.namespace"
    r"|namespaceObject\.metadata\.name"
)
_EQUALITIES = frozenset({"_==_", "_!=_", "@in", "not in"})


def other_namespaces(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV383: a namespaced policy about other namespaces, whose objects it never sees.

    upstream: pkg/cel/policies/vpol/engine/predicate.go `NamespacedPolicy`
    """
    whole = policy.policy
    if not whole.kind.startswith("Namespaced"):
        return
    constraints, own = (
        policy.spec.match_constraints,
        text_field(metadata(whole.document.data), "namespace"),
    )
    if constraints is not None and constraints.selects_namespaces:
        problem = own_namespace_problem(
            whole.kind, policy.kind, own, constraints.namespace_selector
        )
        if problem:
            yield policy.warn("KV383", problem, (*constraints.path, "namespaceSelector"))
    for one in policy.expressions if own else ():
        tests = (atom for node in one.nodes() for atom in demands(node))
        for atom in tests:
            if atom.relation not in _EQUALITIES or not {own, "", True}.isdisjoint(atom.values):
                continue
            read = written(atom.operand)
            if _NAMESPACE.fullmatch(read):
                text = (
                    f"`{read}` is always `{own}`, since a {whole.kind} only sees objects of its "
                    f"own namespace: write a {policy.kind} for {listed(atom.values)}"
                )
                yield policy.warn("KV383", text, one.path)
                break


def _rules_without_requests(
    policy: CelPolicy, rules: Iterable[ResourceRule]
) -> Iterator[Diagnostic]:
    for rule in rules:
        if not rule.operations and _needs_operations(policy):
            text = (
                "no request matches: a rule without `operations` is for none of them (write "
                "`operations: [CREATE, UPDATE]`)"
            )
            yield policy.warn("KV270", text, rule.path)
        for index, name in enumerate(rule.resource_names):
            if "*" in name or "?" in name:
                text = f"no object has the name `{name}`: `resourceNames` has no wildcards"
                yield policy.warn("KV270", text, (*rule.path, "resourceNames", index))
        if set(rule.operations) == {"CONNECT"} and not any(
            "/" in name or "*" in name for name in rule.resources
        ):
            text = (
                "no request matches: the operation CONNECT is for subresources, such as "
                "`pods/exec` and `pods/portforward`"
            )
            yield policy.warn("KV270", text, (*rule.path, "resources"))
        if rule.scope not in _SCOPES:
            continue
        kinds = matched_kinds(policy.spec._replace(match_constraints=MatchConstraints((), (rule,))))
        if not kinds:
            continue
        if all(is_namespaced(one.group, one.kind) != _SCOPES[rule.scope] for one in kinds):
            other = next(name for name in _SCOPES if name != rule.scope)
            text = (
                f"nothing matches `scope: {rule.scope}`: the scope of "
                f"{listed({one.kind for one in kinds})} is `{other}`"
            )
            yield policy.warn("KV270", text, (*rule.path, "scope"))


def _needs_operations(policy: CelPolicy) -> bool:
    """Return whether a policy is only evaluated for requests, whose operation is compared.

    upstream: k8s.io/apiserver pkg/admission/plugin/webhook/predicates/rules
    """
    evaluation = policy.spec.evaluation
    others = {"DeletingPolicy", "GeneratingPolicy"}
    is_of_requests = policy.kind not in others and not evaluation.mutate_existing
    return is_of_requests and evaluation.mode == "Kubernetes"


_SCOPES: Mapping[str, bool] = {"Namespaced": True, "Cluster": False}


def _covers(out: ResourceRule, one: ResourceRule) -> bool:
    names = out.resource_names
    if names and not set(one.resource_names or ("",)) <= set(names):
        return False
    if (out.scope or "*") not in {"*", one.scope or "*"}:
        return False
    pairs = (
        (out.api_groups, one.api_groups),
        (out.api_versions, one.api_versions),
        (out.resources, one.resources),
        (out.operations, one.operations),
    )
    return all(own and ("*" in outer or set(own) <= set(outer)) for outer, own in pairs)


_OTHERS = frozenset({"deployments", "daemonsets", "statefulsets", "replicasets", "jobs"})
_LEFT_OUT = "replicationcontrollers"


def unseen_controllers(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV268: a policy for all Pod controllers except ReplicationControllers, and not for Pods."""
    if policy.kind not in VALIDATING:
        return
    rules = policy.spec.resource_rules
    names = {name for rule in rules for name in rule.resources or ("*",)}
    named = names >= _OTHERS and names.isdisjoint({"pods", _LEFT_OUT})
    if not named or any("*" in name for name in names):
        return
    if any(isinstance(node, Select) and node.field == "template" for node in policy.nodes()):
        text = (
            f"neither `{_LEFT_OUT}` nor `pods` is matched along with the other Pod controllers: "
            "Pods of a ReplicationController are not checked"
        )
        path = ("spec", "matchConstraints", "resourceRules")
        yield policy.warn("KV268", text, path)


def scanned_users(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV251: a field of the user in a policy for background scans, which have no request.

    upstream: pkg/controllers/report/utils/scanner.go
    """
    if policy.kind != "ValidatingPolicy" or policy.spec.evaluation.background is False:
        return
    for one in policy.expressions:
        names = (selected(node) for node in one.nodes())
        for name in dict.fromkeys(name for name in names if name.startswith("request.userInfo.")):
            if name.count(".") == 2 and not policy.tests_presence(name):
                text = (
                    f"`{name}` does not exist in background scans and in runs without a user: set "
                    "`spec.evaluation.background.enabled: false`, or test it with `has`"
                )
                yield policy.warn("KV251", text, one.path)


_CONTROLLERS = ("deployments", "daemonsets", "replicasets", "statefulsets", "jobs", "cronjobs")


def denials_without_admission(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV392: actions on requests of a policy that only scans evaluate.

    upstream: pkg/controllers/webhook/controller.go
    """
    spec = policy.spec
    actions = [one for one in spec.validation_actions if one != "Audit"]
    if spec.evaluation.admission is False and actions:
        text = (
            f"{listed(actions)} has no effect: without `evaluation.admission` the policy is only "
            "evaluated in scans (write `Audit`, or enable it)"
        )
        yield policy.warn("KV392", text, ("spec", "validationActions"))


def controllers_left_out(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV245: subresources matched besides Pods, KV246: an autogen setting without effect.

    Variants are only derived if a policy matches nothing but Pods. upstream: pkg/cel/autogen
    """
    if not policy.derivable:
        return
    wanted = policy.spec.autogen.pod_controllers
    path = ("spec", "autogen", "podControllers", "controllers")
    for index, name in enumerate(wanted or ()):
        if name in _CONTROLLERS or (policy.extracts and custom_workload(name)):
            continue
        known = ", ".join(f"`{one}`" for one in _CONTROLLERS)
        text = f"autogen does not know `{name}`, so no variant is derived for it: use {known}"
        if policy.extracts:
            # A cluster knows the resources that it serves.
            text = (
                f"`{name}` is unknown without a cluster, so no variant is derived for it here: "
                f"use {known}, or RESOURCE.VERSION.GROUP for custom workloads"
            )
        plural = f"{name.lower().removesuffix('s')}s"
        instead = (name, plural) if plural in _CONTROLLERS else None
        yield policy.warn("KV246", text, (*path, index), instead=instead)
    if policy.is_about_pods:
        return
    rules = policy.spec.resource_rules
    names = [name for rule in rules for name in rule.resources]
    groups = {group for rule in rules for group in rule.api_groups}
    others = [name for name in names if name != "pods"]
    is_plain = "pods" in names and all(name.startswith("pods/") for name in others)
    beside = others[0] if is_plain and others and groups == {""} else ""
    if wanted:
        text = "no variant is derived: autogen needs a policy that matches only Pods"
        yield policy.warn("KV246", text, path)
    elif beside and wanted is None and _looks_at_templates(policy):
        text = (
            f"no variants are derived for Pod controllers, because the policy matches `{beside}` "
            "besides `pods`: only the Pods of a Deployment are checked (match the controllers "
            "too, or set `spec.autogen.podControllers.controllers: []` if that is intended)"
        )
        place = ("spec", "matchConstraints", "resourceRules")
        yield policy.warn("KV245", text, place)


def _looks_at_templates(policy: CelPolicy) -> bool:
    fields = {
        node.field
        for node in policy.nodes()
        if isinstance(node, Select) and dotted_name(node.operand) == "object.spec"
    }
    return fields != {"ephemeralContainers"}


def controllers_spec(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV243: a path to Pod fields that autogen does not rewrite.

    Autogen replaces the text `object.spec` in expressions: other spellings read the controller's
    own fields, find nothing, and may pass. upstream: pkg/cel/autogen
    """
    if not policy.is_derived:
        return
    for one in policy.expressions:
        spellings = dict.fromkeys(filter(None, map(_spelling, one.nodes())))
        for spelled, plain in spellings:
            text = (
                f"autogen does not rewrite `{spelled}` for Pod controllers, so it refers to the "
                "controller (for example the Deployment), not to its Pod template: write "
                f"`{plain}` instead"
            )
            yield policy.warn("KV243", text, one.path, instead=(spelled, plain))


def _spelling(node: Node) -> tuple[str, str] | None:
    for name in ("object", "oldObject"):
        if isinstance(node, Select) and node.optional and node.field == "spec":
            if is_name(node.operand, name):
                return f"{name}.?spec", f"{name}.spec"
        elif isinstance(node, Call) and node.function in {"_[_]", "_[?_]"}:
            operand, key = node.arguments
            if is_name(operand, name) and isinstance(key, Literal) and key.value == "spec":
                mark = "?" if node.function == "_[?_]" else ""
                return f"{name}[{mark}'spec']", f"{name}.spec"
    return None


_METADATA_PATHS = frozenset(
    f"object.metadata.{name}" for name in ("name", "generateName", "uid", "ownerReferences")
)


def controllers_metadata(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV244: metadata of Pods that Pod templates do not have.

    In variants, `object.metadata` is that of the Pod's template. upstream: pkg/cel/autogen
    """
    if not policy.is_derived:
        return
    for one in policy.expressions:
        found = dict.fromkeys(
            name for node in one.nodes() if (name := selected(node)) in _METADATA_PATHS
        )
        for name in found:
            if policy.tests_presence(name):
                continue
            field = name.rpartition(".")[2]
            text = (
                f"`{name}` becomes `object.spec.template.metadata.{field}` in the autogen rules "
                "for Pod controllers, and Pod templates do not set that field: check it with "
                "`has`, or disable autogen with `spec.autogen.podControllers.controllers: []`"
            )
            yield policy.warn("KV244", text, one.path)


def metadata_of_templates(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV253: metadata that a mutation sets as a typed object, also in autogen variants.

    A variant nests the object in the template, without changing type names in it.

    upstream: pkg/cel/policies/mpol/autogen
    """
    if not policy.is_moved:
        return
    for one in policy.expressions:
        if one.is_mutation("applyConfiguration") and _writes_metadata(one.root):
            text = (
                "the autogen rules for Pod controllers always fail with an error: they contain "
                "`Object.metadata` where `Object.spec.template.metadata` is required (set "
                "`spec.autogen.podControllers.controllers: []`, and match the controllers in a "
                "policy of their own)"
            )
            yield policy.warn("KV253", text, one.path)


def _writes_metadata(root: Node) -> bool:
    if not isinstance(root, StructLiteral) or root.type_name != "Object":
        return False
    return any(
        one.name == "metadata" and isinstance(one.value, StructLiteral) for one in root.fields
    )


def unmoved_patches(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV254: a JSON patch for Pods that autogen applies unchanged to their controllers.

    upstream: pkg/cel/policies/mpol/autogen
    """
    if not policy.is_moved:
        return
    for one in policy.expressions:
        tests_kind = any(selected(node) == "object.kind" for node in one.nodes())
        if one.is_mutation("jsonPatch") and not tests_kind:
            text = (
                "the patch is not rewritten in the variants for Pod controllers: it writes to "
                "the same paths of the Deployment itself, not of its Pod template (test "
                "`object.kind`, or set `spec.autogen.podControllers.controllers: []`)"
            )
            yield policy.warn("KV254", text, one.path)
