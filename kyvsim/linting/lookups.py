"""Checks of what rules look up by name: fields of requests, paths of the API, images."""

import contextlib
import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from kyvsim.cel.nodes import Call, Ident, ListLiteral, Literal, Loop, Select, dotted_name
from kyvsim.cel.parser import ExpressionSyntaxError
from kyvsim.cel.parser import parse as parse_cel
from kyvsim.engine.compile.compiled import warn
from kyvsim.jmespath.parse import QuerySyntaxError, parse
from kyvsim.jmespath.variables import VARIABLE
from kyvsim.kubernetes.discovery import (
    REMOVED_VERSIONS,
    every_kind,
    is_builtin_group,
    is_namespaced_in_cluster,
    kind_of_plural,
    parse_kind_selector,
    served_versions,
    split_api_version,
)
from kyvsim.kubernetes.go_text import Base64Error, decode_base64
from kyvsim.kubernetes.objects import Path, object_key, text_field, value_at
from kyvsim.kubernetes.pods import POD_SPEC_PATHS
from kyvsim.kubernetes.wildcard import covers, has_wildcard
from kyvsim.languages.classic.validation.rule_parts import is_open
from kyvsim.languages.classic.validation.variables import expression_of
from kyvsim.linting.cel_policy import CelPolicy, ParsedExpression, is_name
from kyvsim.linting.expressions import SEVERAL_NAMES
from kyvsim.linting.queries import trees
from kyvsim.linting.traversal import expressions_in, joined_texts, nodes_of, texts_of
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, change, likely, listed, nearest
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.source import Document
from kyvsim.policy.cel_policy import expressions
from kyvsim.policy.images import Attestation, Certificates, Keyless, Keys, Rekor
from kyvsim.policy.nodes import Node
from kyvsim.policy.tree import (
    ApiCallEntry,
    Condition,
    ConfigMapEntry,
    ContextEntry,
    GlobalReferenceEntry,
)

_REQUEST_FIELDS = frozenset(
    {
        *("uid", "kind", "resource", "subResource", "requestKind", "requestResource", "name"),
        *("requestSubResource", "namespace", "operation", "userInfo", "roles", "clusterRoles"),
        *("object", "oldObject", "options", "dryRun"),
    }
)
_USER_FIELDS = frozenset({"username", "uid", "groups", "extra"})
_STRING = re.compile(r"'(?:[^'\\]|\\.)*'|`(?:[^`\\]|\\.)*`")
_READ = re.compile(r"(?<![\w.\"@\])])request\.(\w+)(?:\.(\w+))?(?![\w(])")
_ROOT = re.compile(r"\s*([A-Za-z]+\d*)\.")
_LOOP_NAME = re.compile(r"element(?:Index)?\d*")
_NEAR = 0.75


def unknown_names(policy: Policy) -> Iterator[Diagnostic]:
    """KV328: a field that requests do not have, a typo of `element`, or `predicate`.

    upstream: k8s.io/api admission/v1 types.go, pkg/engine/context/context.go
    """
    for rule in policy.rules:
        yield from _of_predicates(policy, rule)
        written = joined_texts(rule)
        if "request" not in written and "element" not in written:
            continue
        entries = {
            one.name.split(".")[0] for one in nodes_of(rule) if isinstance(one, ContextEntry)
        }
        for path, expression in expressions_in(texts_of(rule)):
            problem = _unknown_name(_STRING.sub("''", expression), entries)
            if problem:
                yield warn(policy.document, "KV328", problem, path)


def _unknown_name(expression: str, entries: set[str]) -> str:
    root = _ROOT.match(expression)
    name = root[1] if root else ""
    known = _LOOP_NAME.fullmatch(name) or name in {"request", "requests", *entries}
    if name.startswith("element") and not known:
        return f"`{name}` has no value: did you mean `element`?"
    for field, inner in () if "request" in entries else _READ.findall(expression):
        # Values may define other fields, such as `request.mode`, so only typos are certain.
        near = "" if field in _REQUEST_FIELDS else nearest(field, _REQUEST_FIELDS, _NEAR)
        if near:
            return f"requests have no field `{field}`: did you mean `{near}`?"
        if field == "userInfo" and inner and inner not in _USER_FIELDS:
            near = nearest(inner, _USER_FIELDS, 0.5)
            hint = f": did you mean `{near}`?" if near else ""
            return f"users have no field `{inner}` (only {listed(_USER_FIELDS)}){hint}"
    return ""


def bodies_of_calls(policy: Policy) -> Iterator[Diagnostic]:
    """KV352: `data` that is not sent, since the method is GET, or a POST without data.

    upstream: pkg/engine/apicall/executor.go; an API server creates no object without a body
    """
    for rule in policy.rules:
        for entry in nodes_of(rule) if "apiCall" in joined_texts(rule) else ():
            if not isinstance(entry, ApiCallEntry):
                continue
            method, path = entry.call.get("method", "GET"), (*entry.path, "apiCall")
            if entry.call.get("data") and method == "GET":
                text = "`data` is only sent with `method: POST`, and the default is GET"
                add = change(policy.document, ChangeKind.ADD, path, "method: POST")
                # Policies are read with the default.
                places = [policy.document.locate(one) for one in (path, (*path, "method"))]
                fix = Fix("add method: POST", (add,)) if places[0] == places[1] else None
                yield warn(policy.document, "KV352", text, (*path, "data"), fix=fix)
            elif method == "POST" and not entry.call.get("data") and not entry.service:
                text = (
                    "an API server rejects a POST without `data`: add it, or use GET to read "
                    "objects"
                )
                yield warn(policy.document, "KV352", text, (*path, "method"))


_OF_PREDICATE = re.compile(r"\s*predicate\.([\w.]+)")


def _of_predicates(policy: Policy, rule: Rule) -> Iterator[Diagnostic]:
    """Yield `predicate` in conditions of attestations, whose variables are the predicate's fields.

    upstream: pkg/engine/internal/utils.go `EvaluateConditions`
    """
    nodes = nodes_of(rule) if rule.tree.verify_images else ()
    attested = [(*one.path, "conditions") for one in nodes if isinstance(one, Attestation)]
    for path, expression in expressions_in(texts_of(rule)) if attested else ():
        found = _OF_PREDICATE.match(expression)
        if found and any(path[: len(one)] == one for one in attested):
            text = (
                "`predicate` has no value: the fields of the predicate are variables themselves "
                f"(write `{found[1]}`)"
            )
            yield warn(policy.document, "KV328", text, path)


_API_PATH = re.compile(
    r"/(?:api/(?P<core>[^/?]+)|apis/(?P<group>[^/?]+)/(?P<version>[^/?]+))(?P<rest>/[^?]*)?"
)
_NAME = "\0"


def unknown_api_paths(policy: Policy) -> Iterator[Diagnostic]:
    """KV335: an API call to a path that an API server does not have.

    upstream: k8s.io/apiserver pkg/endpoints/request/requestinfo.go
    """
    for rule in policy.rules:
        for entry in nodes_of(rule) if "apiCall" in joined_texts(rule) else ():
            if not isinstance(entry, ApiCallEntry) or entry.service:
                continue
            problem = _path_problem(VARIABLE.sub(lambda found: found[1] + _NAME, entry.url_path))
            if problem:
                path = (*entry.path, "apiCall", "urlPath")
                yield warn(policy.document, "KV335", problem, path)


def _path_problem(path: str) -> str:
    found = _API_PATH.match(path)
    if found is None or _NAME in f"{found['core']}{found['group']}":
        return ""
    core, group, rest = found["core"], found["group"], (found["rest"] or "").strip("/")
    if group and re.fullmatch(r"v\d+\w*", group):
        return f"the core group is below `/api/{group}`, without an `s`"
    if core and is_builtin_group(core):
        return f"the group `{core}` is below `/apis/{core}`, with an `s`"
    if not rest or not is_builtin_group(group or ""):
        return ""
    steps = rest.split("/")
    kind = kind_of_plural(group or "", steps[0])
    if len(steps) == 2 and kind and is_namespaced_in_cluster(group or "", kind):
        of = path.partition(steps[0])[0]
        return (
            f"a single {kind} is in a namespace: write `{of}namespaces/NAMESPACE/{steps[0]}/NAME`"
        ).replace(_NAME, "…")
    if steps[0] == "namespaces" and len(steps) > 2 and steps[2] not in {"finalize", "status"}:
        steps = steps[2:]
    name = steps[0]
    version = f"{group}/{found['version']}"
    kind = kind_of_plural(group or "", name) if version in REMOVED_VERSIONS else ""
    served = served_versions(group, kind)
    if served and found["version"] not in served:
        return f"Kubernetes removed `{version}` of {kind}: write `{group}/{served[0]}`"
    return "" if _NAME in name else resource_problem(group or "", name)


def resource_problem(group: str, name: str) -> str:
    """Return which resource is meant by a name that a group of Kubernetes does not have, or ""."""
    if not name or kind_of_plural(group, name):
        return ""
    where = f"the group `{group}`" if group else "the core group"
    elsewhere = [its for (its, _), facts in every_kind().items() if facts.plural == name]
    if elsewhere:
        core = 'the core group, below `/api/v1`, which is `""` in `apiGroups`'
        its_place = f"the group `{elsewhere[0]}`" if elsewhere[0] else core
        return f"{where} has no resource `{name}`: it is in {its_place}"
    plurals = {facts.plural for (its, _), facts in every_kind().items() if its == group}
    near = nearest(name, plurals, _NEAR)
    return f"{where} has no resource `{name}`: did you mean `{near}`?" if near else ""


_LOOKUPS = (("apiCall", "urlPath"), ("kubernetesResource", "namespace"))


def entry_problems(documents: Iterable[Document]) -> Iterator[Diagnostic]:
    """KV335: a variable in a GlobalContextEntry, which no request reads; KV163: its resource.

    upstream: pkg/globalcontext, which does not substitute variables
    """
    for document in documents:
        if text_field(document.data, "kind") != "GlobalContextEntry":
            continue
        spec = document.data.get("spec")
        group, name = (
            value_at(spec, ("kubernetesResource", field)) for field in ("group", "resource")
        )
        if isinstance(name, str) and is_builtin_group(group or ""):
            problem = resource_problem(group or "", name.partition("/")[0])
            if problem:
                path: Path = ("spec", "kubernetesResource", "resource")
                yield warn(document, "KV163", problem, path)
        for path in _LOOKUPS:
            value = value_at(spec, path)
            if isinstance(value, str) and "{{" in value:
                text = (
                    f"variables are not replaced here, since no request reads the entry: `{value}` "
                    "stays as it is (read all objects, and select with a query in the policy)"
                )
                yield warn(document, "KV335", text, ("spec", *path))


class NamedObject(NamedTuple):
    """A GlobalContextEntry or ConfigMap that a policy reads by its name."""

    document: Document
    path: Path
    kind: str
    namespace: str
    name: str
    projection: str = ""

    @property
    def folder(self) -> str:
        """The folder whose objects it probably means, with the kind of those."""
        return f"{self.kind} {self.document.file.rpartition('/')[0]}"


def unknown_references(
    policies: Iterable[Policy], objects: Iterable[Document]
) -> Iterator[Diagnostic]:
    """KV387: the name of a GlobalContextEntry or ConfigMap of which a similar one is given.

    upstream: pkg/engine/context/loaders/globalcontext.go: `name.projection`
    """
    known: dict[str, dict[tuple[str, str], Document]] = {}
    for document in objects:
        key = object_key(document.data)
        if key.kind in {"GlobalContextEntry", "ConfigMap"}:
            namespace = (key.namespace or "default") if key.kind == "ConfigMap" else ""
            one = NamedObject(document, (), key.kind, namespace, key.name)
            known.setdefault(one.folder, {})[namespace, key.name] = document
    if not known:
        return
    references = [one for policy in policies for one in named_objects(policy)]
    everywhere = {(one.split()[0], *key) for one, keys in known.items() for key in keys}
    read = {(one.kind, one.namespace, one.name) for one in references}
    for one in references:
        given = known.get(one.folder, {})
        found = given.get((one.namespace, one.name))
        problem = ""
        if found is not None and one.projection:
            problem = _projection_problem(one, found)
        elif found is None and (one.kind, one.namespace, one.name) not in everywhere:
            problem = _similar(one, given, read)
        if problem:
            yield warn(one.document, "KV387", problem, one.path)


def _projection_problem(one: NamedObject, entry: Document) -> str:
    projections = value_at(entry.data, ("spec", "projections")) or ()
    names = [text_field(each, "name") for each in projections]
    if one.projection in names:
        return ""
    hint = likely(one.projection, names) or f" (it has {listed(names) or 'none'})"
    return f"`{one.name}` has no projection `{one.projection}`{hint}"


def _similar(
    one: NamedObject, given: Iterable[tuple[str, str]], read: Container[tuple[str, str, str]]
) -> str:
    """Return which of the given objects is meant by a name that none of them has, or ""."""
    names = [name for namespace, name in given if namespace == one.namespace]
    near = nearest(one.name, names, _NEAR)
    # The only entry that nothing reads, for the name that no entry has.
    unread = [name for name in names if (one.kind, one.namespace, name) not in read]
    if not near and one.kind == "GlobalContextEntry" and len(unread) == 1:
        near = unread[0]
    if near:
        return f"no {one.kind} is named `{one.name}`: did you mean `{near}`?"
    places = [namespace for namespace, name in given if name == one.name]
    place = nearest(one.namespace, places, _NEAR)
    return f"`{one.name}` is in the namespace `{place}`, not `{one.namespace}`" if place else ""


def named_objects(policy: Policy) -> Iterator[NamedObject]:
    """Yield the GlobalContextEntries and ConfigMaps that a policy reads by constant names."""
    for node in (node for rule in policy.rules for node in nodes_of(rule)):
        if isinstance(node, GlobalReferenceEntry) and "{{" not in node.reference:
            name, _, projection = node.reference.partition(".")
            path: Path = (*node.path, "globalReference", "name")
            yield NamedObject(policy.document, path, "GlobalContextEntry", "", name, projection)
        elif isinstance(node, ConfigMapEntry):
            place, name = node.config_map_namespace or "default", node.config_map_name
            if "{{" not in f"{place}{name}":
                path = (*node.path, "configMap", "name")
                yield NamedObject(policy.document, path, "ConfigMap", place, name)
    for path, text, _ in expressions(policy.cel) if policy.cel_tree is not None else ():
        if ".Get(" in text or ".get(" in text:
            with suppress(ExpressionSyntaxError):
                root = parse_cel(text, frozenset())
                for call in ParsedExpression(path, text, root).nodes():
                    if isinstance(call, Call) and call.function in {"Get", "get"}:
                        yield from _reference_of(policy, path, call)


def _reference_of(policy: Policy, path: Path, call: Call) -> Iterator[NamedObject]:
    """Yield what a call of `Get` in CEL reads, if its arguments are constants."""
    owner = dotted_name(call.target) if call.target else ""
    given = [each.value for each in call.arguments if isinstance(each, Literal)]
    if owner == "globalContext" and given and len(given) == len(call.arguments):
        yield NamedObject(policy.document, path, "GlobalContextEntry", "", *given)
    elif owner == "resource" and given[:2] == ["v1", "configmaps"] and len(given) == 4:
        yield NamedObject(policy.document, path, "ConfigMap", *given[2:])


_SETS = frozenset({"In", "AnyIn", "AllIn", "NotIn", "AnyNotIn", "AllNotIn"})


def texts_for_lists(
    policies: Iterable[Policy], manifests: Iterable[Document]
) -> Iterator[Diagnostic]:
    """KV372: a text of a ConfigMap with several names, which a condition compares as one value.

    upstream: pkg/engine/variables/operator/anyin.go, which only reads JSON lists
    """
    texts: dict[tuple[str, str, str], tuple[Document, str]] = {}
    for document in manifests:
        key, data = object_key(document.data), document.data.get("data")
        if key.kind != "ConfigMap" or not isinstance(data, dict):
            continue
        for name, text in data.items():
            if isinstance(text, str) and SEVERAL_NAMES.fullmatch(text):
                texts[key.namespace or "default", key.name, name] = document, text
    for policy in policies if texts else ():
        for rule in policy.rules:
            for expression, place in _compared_texts(rule):
                if place in texts:
                    document, text = texts.pop(place)
                    names = [one.strip() for one in re.split(r"[,\n]", text) if one.strip()]
                    split = f", or `split({expression}, ',')` in the policy" * ("," in text)
                    problem = (
                        f"a condition of the rule `{rule.name}` compares with this text as one "
                        f"value: write a list in JSON, such as `{json.dumps(names)}`{split}"
                    )
                    yield warn(document, "KV372", problem, ("data", place[2]))


def _compared_texts(rule: Rule) -> Iterator[tuple[str, tuple[str, str, str]]]:
    """Yield the values of ConfigMaps that conditions use as a list: expression, and which it is.

    A value is given by namespace, name and key.
    """
    nodes = nodes_of(rule)
    entries = {one.name: one for one in nodes if isinstance(one, ConfigMapEntry)}
    for node in nodes if entries else ():
        is_set = isinstance(node, Condition) and node.operator in _SETS
        value = node.value if isinstance(node, Condition) and is_set else None
        whole = VARIABLE.fullmatch(value.strip()) if isinstance(value, str) else None
        expression = expression_of(whole[2]) if whole else ""
        fields = _fields(expression) if expression else ()
        if len(fields) == 3 and fields[1] == "data" and (entry := entries.get(fields[0])):
            namespace = entry.config_map_namespace or "default"
            yield expression, (namespace, entry.config_map_name, fields[2])


def _fields(expression: str) -> tuple[str, ...]:
    """Return the names of a path, with a default or without; () for other expressions."""
    try:
        tree = parse(expression)
    except QuerySyntaxError:
        return ()
    if tree["type"] == "or_expression":
        tree = trees(tree)[0]
    found = trees(tree) if tree["type"] == "subexpression" else []
    return tuple(str(one["value"]) for one in found if one["type"] == "field")


_RESOURCE_CALLS = frozenset({"get", "list", "post"})


def unknown_resources_in_cel(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV163: a call of `resource.Get`, `List` or `Post` for a resource that does not exist.

    upstream: pkg/cel/libs/context.go, which takes the plural name and a subresource
    """
    for one in policy.expressions:
        for node in one.nodes():
            if not isinstance(node, Call) or node.function.lower() not in _RESOURCE_CALLS:
                continue
            called = node.target is not None and is_name(node.target, "resource")
            given = node.arguments[:2] if called else ()
            values = [arg.value for arg in given if isinstance(arg, Literal)]
            if len(values) < 2 or not all(isinstance(value, str) for value in values):
                continue
            group = split_api_version(values[0])[0]
            name = values[1].partition("/")[0]
            problem = resource_problem(group, name) if is_builtin_group(group) else ""
            if problem:
                yield policy.warn("KV163", problem, one.path)


def removed_versions(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV315: versions of resources that API servers do not serve any more, so nothing matches."""
    constraints = policy.spec.match_constraints
    for rule in constraints.resource_rules if constraints else ():
        named = [f"{group}/{version}" for group in rule.api_groups for version in rule.api_versions]
        removed = [one for one in named if one in REMOVED_VERSIONS or one.startswith("extensions/")]
        if not named or removed != named:
            continue
        for name in rule.resources:
            served = [
                f"{group}/{version}"
                for group in (*rule.api_groups, _MOVED.get(name, ""))
                for version in served_versions(group, kind_of_plural(group, name) or "")
            ]
            if served and {*served}.isdisjoint(named):
                problem = (
                    f"no request for `{name}` has the version `{named[0]}`, which was removed: "
                    f"match `{served[0]}`"
                )
                yield policy.warn("KV315", problem, (*rule.path, "apiVersions"))
                break


_MOVED: Mapping[str, str] = {
    **dict.fromkeys(("ingresses", "networkpolicies"), "networking.k8s.io"),
    **dict.fromkeys(("deployments", "daemonsets", "replicasets"), "apps"),
}
"""The groups of resources that were in `extensions`."""


_OF_NO_REGISTRY = re.compile(r"(?!localhost/)[a-z0-9_-]+(?:/|[:@][^/]*$)")
"""Names without a registry: that has a dot, a port, or is `localhost`."""


def unmatched_images(policy: Policy) -> Iterator[Diagnostic]:
    """KV334: a reference in `verifyImages` that no image matches, which are then not verified.

    Images are compared with registry, and with tag or digest; a missing tag is `latest`.

    upstream: pkg/utils/image/infos.go `String`, pkg/engine/internal/imageverifier.go
    """
    for rule in policy.rules:
        for images in rule.tree.verify_images or ():
            references = images.data.get("imageReferences")
            for index, text in enumerate(references if isinstance(references, list) else ()):
                problem = "" if is_open(text) else _reference_problem(str(text))
                if isinstance(text, str) and not problem and _OF_NO_REGISTRY.match(text):
                    problem = (
                        ", since images are compared with their registry: write "
                        f"`docker.io/{text}`, or `*/{text}` for all registries"
                    )
                if problem:
                    path = (*images.path, "imageReferences", index)
                    yield warn(
                        policy.document, "KV334", f"no image matches `{text}`{problem}", path
                    )
            skipped = images.skip_image_references
            if skipped and all(
                any(covers(one, text) for one in skipped) for text in images.image_references
            ):
                text = "no image is verified, since all images of `imageReferences` are skipped"
                yield warn(policy.document, "KV334", text, (*images.path, "skipImageReferences"))


_OF_IMAGES = re.compile(
    r"(?:^|[(|,&!])\s*(images\.(?:\*|\"\*\"|containers|initContainers|ephemeralContainers))"
)


def images_of_other_kinds(policy: Policy) -> Iterator[Diagnostic]:
    """KV366: the variable `images`, or `verifyImages`, in a rule for objects without images.

    upstream: pkg/utils/api/image.go, which knows Pods, their controllers, and `imageExtractors`
    """
    for rule in policy.rules:
        filters = rule.tree.match.effective
        kinds = {parse_kind_selector(text).kind for one in filters for text in one.kinds}
        known = {*POD_SPEC_PATHS, *(one.kind for one in rule.tree.image_extractors or ())}
        if not all(one.kinds for one in filters) or any(
            kind in known or has_wildcard(kind) for kind in kinds
        ):
            continue
        text = (
            f"{listed(kinds)} objects have no images for Kyverno, only Pods and their controllers"
        )
        if rule.tree.verify_images:
            problem = f"no image is verified, since {text}: add `imageExtractors` for the kind"
            yield warn(policy.document, "KV366", problem, rule.tree.verify_images[0].path)
        elif "images." in joined_texts(rule):
            for path, expression in expressions_in(texts_of(rule)):
                if found := _OF_IMAGES.search(expression):
                    problem = f"`{found[1]}` has no value, since {text}: read fields of the object"
                    yield warn(policy.document, "KV366", problem, path)


def unreadable_keys(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV365: a key or certificate of an attestor that is not in the format PEM.

    upstream: pkg/image/verifiers/ivpol/cosign/certs.go
    """
    for attestor in policy.spec.attestors:
        for path, text in attestor.keys:
            problem = _placeholder_problem(text)
            if text.strip() and not text.lstrip().startswith("-----BEGIN "):
                problem = (
                    "this is not PEM, so no image can be verified with it: keep the lines "
                    "`-----BEGIN …-----` and `-----END …-----`"
                )
            if problem:
                yield policy.warn("KV365", problem, path)


_PEM = re.compile(r"-----BEGIN [\w ]+-----(.*?)-----END [\w ]+-----", re.DOTALL)


def _placeholder_problem(text: str) -> str:
    """Return that a key or certificate has no base64 text between its lines, or ""."""
    for body in _PEM.findall(text):
        with contextlib.suppress(Base64Error):
            if decode_base64("".join(body.split())):
                continue
        return (
            "the text between `-----BEGIN …-----` and `-----END …-----` is not base64, so no image "
            "can be verified with it: replace the placeholder"
        )
    return ""


_IMAGE_LISTS = ("containers", "initContainers", "ephemeralContainers")


def unmatched_images_in_cel(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV334: references that no image matches; KV325: attestors, attestations, lists of images."""
    for one in policy.spec.match_image_references:
        problem = _reference_problem(one.glob)
        text = f"no image matches `{one.glob}`{problem}"
        if not (one.glob.endswith("/") or "://" in one.glob):
            # Without a tag, the default tag is not added here.
            text = (
                f"no image with a tag or digest matches `{one.glob}`: write `{one.glob}/*` for all "
                f"images below it, or `{one.glob}:*`"
            )
        if problem:
            yield policy.warn("KV334", text, (*one.path, "glob"))
    if policy.kind != "ImageValidatingPolicy":
        return
    known = {
        "attestors": {one.name for one in policy.spec.attestors},
        "attestations": {*policy.spec.attestations},
    }
    if policy.spec.evaluation.mode == "Kubernetes":
        known["images"] = {*_IMAGE_LISTS, *(one.name for one in policy.spec.images)}
    for parsed in policy.expressions:
        for node in parsed.nodes():
            if not isinstance(node, Select) or not isinstance(node.operand, Ident):
                continue
            holder, name = node.operand.name, node.field
            names = known.get(holder)
            if names is not None and name not in names:
                noun = "list of images" if holder == "images" else holder.removesuffix("s")
                only = f", only {listed(names)}" if names else ""
                yield policy.warn("KV325", f"the policy has no {noun} `{name}`{only}", parsed.path)


_VERIFYING = frozenset({"verifyImageSignatures", "verifyAttestationSignatures"})


def arguments_of_signatures(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV350: attestors that are not in a list, or only their names; a loop over `images` itself.

    upstream: kyverno/sdk extensions/cel/libs/imageverify
    """
    names = {one.name for one in policy.spec.attestors}
    for one in policy.expressions if policy.kind == "ImageValidatingPolicy" else ():
        for node in one.nodes():
            problem = ""
            loop = node if isinstance(node, Loop) and is_name(node.source, "images") else None
            inner = ParsedExpression((), "", loop.test or loop.source).nodes() if loop else ()
            if loop and not any(is_name(each, "images") for each in inner):
                problem = (
                    "a loop over `images` has the names of its lists, not images: write "
                    f"`images.containers.{loop.kind}(…)`"
                )
            elif isinstance(node, Call) and node.function in _VERIFYING:
                given = node.arguments[-1]
                parts = given.elements if isinstance(given, ListLiteral) else ()
                texts = [each.value for each in parts if isinstance(each, Literal)]
                if isinstance(given, Select) and is_name(given.operand, "attestors"):
                    problem = f"the attestors are a list: write `[attestors.{given.field}]`"
                elif texts:
                    name = texts[0] if texts[0] in names else next(iter(names), "NAME")
                    problem = f"`{texts[0]}` is a text, not an attestor: write `attestors.{name}`"
            if problem:
                yield policy.warn("KV350", f"this is always an error: {problem}", one.path)


_OF_REGEXES = re.compile(
    r"^\^|\$$|\.\+|\\[.wds]|\[[^\]]+\]|\.\*(?!$)|^https://[^/]+/(?:[^/]+/)?\.\*$"
)
"""What wildcards do not contain; after a repository, `/.*` may be meant for `.github`."""


def expressions_as_identities(policy: Policy) -> Iterator[Diagnostic]:
    """KV309: a regular expression as the identity of a keyless signature, which is a wildcard.

    upstream: pkg/image/verifiers/cpol/cosign/verifier.go `matchSignatures`
    """
    for rule in policy.rules:
        for one in nodes_of(rule) if rule.tree.verify_images else ():
            if not isinstance(one, Keyless):
                continue
            for field, text in (("subject", one.subject), ("issuer", one.issuer)):
                if _OF_REGEXES.search(text) and not is_open(text):
                    problem = (
                        f"`{text}` is not a regular expression: `{field}` is a wildcard with `*` "
                        f"and `?` (write `{field}RegExp`)"
                    )
                    path, meant = (*one.path, field), f"{field}RegExp"
                    changes = (change(policy.document, ChangeKind.KEY, path, meant),)
                    fix = Fix(f"use {meant}", changes)
                    yield warn(policy.document, "KV309", problem, path, fix=fix)


def unusable_keys(policy: Policy) -> Iterator[Diagnostic]:
    """KV353: a key, certificate or issuer that no signature can have, as it has the wrong form.

    upstream: pkg/image/verifiers/cpol/cosign/cosign.go; sigstore pkg/signature/keys.go, which
    reads other keys from files of Kyverno's container; OpenID Connect, whose issuers are URLs
    """
    for rule in policy.rules:
        is_signed = rule.tree.verify_images or (rule.tree.validate and rule.tree.validate.manifests)
        for one in nodes_of(rule) if is_signed else ():
            for field, text, problem in _form_problems(one):
                if not is_open(text):
                    yield warn(policy.document, "KV353", problem, (*one.path, field))


_OF_SUBJECTS = re.compile(r"/\.github/workflows/|@refs/|^[^/]+@")
"""Parts of the identities of workflows and of people, which URLs of issuers do not have."""
_ISSUERS = frozenset(
    {"https://token.actions.githubusercontent.com", "https://gitlab.com"}
    | {"https://accounts.google.com", "https://github.com/login/oauth"}
    | {"https://oauth2.sigstore.dev/auth", "https://login.microsoftonline.com"}
)


_NO_KEY = (
    "this is neither a public key nor a URI: write the key itself, from `-----BEGIN PUBLIC "
    "KEY-----` on, or `k8s://NAMESPACE/SECRET`; a policy cannot read files"
)
_NO_CERTIFICATE = "this is not a certificate: write it from `-----BEGIN CERTIFICATE-----` on"


def _form_problems(one: Node) -> Iterator[tuple[str, str, str]]:
    """Yield field, text and problem of keys and identities."""
    if isinstance(one, Keys):
        if problem := _pem_problem(one.public_keys.strip(), _NO_KEY):
            yield "publicKeys", one.public_keys, problem
        if one.kms and "://" not in one.kms:
            yield "kms", one.kms, "this is not the URI of a key, such as `awskms:///alias/NAME`"
    elif isinstance(one, Certificates):
        for field, text in (("cert", one.cert), ("certChain", one.cert_chain)):
            if problem := _pem_problem(text.strip(), _NO_CERTIFICATE):
                yield field, text, problem
    elif isinstance(one, Rekor) and one.url and "://" not in one.url:
        yield "url", one.url, f"this is not a URL: write `https://{one.url}`"
    elif isinstance(one, Keyless) and (problem := _issuer_problem(one)):
        yield "issuer", one.issuer, problem


def _pem_problem(text: str, other: str) -> str:
    """Return `other` if a text is neither PEM nor a URI, or why it cannot be decoded, or ""."""
    if text and not text.startswith(("-----BEGIN", "/")) and "://" not in text:
        return other
    return _placeholder_problem(text)


def _issuer_problem(one: Keyless) -> str:
    issuer = one.issuer
    if _OF_SUBJECTS.search(issuer) or one.subject.rstrip("/") in _ISSUERS:
        return "this is the identity of a signer, and `subject` the issuer: swap them"
    if issuer and "://" not in issuer and not issuer.startswith("*"):
        return f"issuers are URLs: write `https://{issuer}`"
    return ""


def _reference_problem(text: str) -> str:
    """Return why no image matches a reference, and what is meant; "" if one may match."""
    scheme, separator, rest = text.partition("://")
    if separator and not has_wildcard(scheme):
        return f", since references have no scheme: write `{rest}`"
    last = text.rpartition("/")[2]
    if not last:
        return f": write `{text}*`"
    if "*" not in last and ":" not in last and "@" not in last:
        return f", since images have a tag or digest: write `{text}:*` for all of them"
    return ""
