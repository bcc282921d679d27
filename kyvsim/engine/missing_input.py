"""Inputs that a rule reads and that were not given: why it fails, errs or is skipped offline.

A cluster has all of them, so the result of the rule may be different there. Each is reported with
the option or the manifest that provides it. Lookups, such as those of context entries, report what
they miss themselves, in `JSONContext.hints`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import chain
from typing import Final

from kyvsim.engine.compile.compiled import Outcome
from kyvsim.engine.context import MISSING_INPUT, JSONContext
from kyvsim.jmespath.query import instead_of, note_on_syntax
from kyvsim.kubernetes.defaults import as_stored
from kyvsim.kubernetes.objects import Json, KubernetesObject, contains_text, object_key
from kyvsim.model.field_reference import FieldPath, FieldReference, Segment, Subject
from kyvsim.model.policy import Rule
from kyvsim.model.ports import ExternalData
from kyvsim.model.request import AdmissionRequest, Operation
from kyvsim.model.result import RuleStatus

_ACCOUNT: Final = frozenset({"serviceAccountName", "serviceAccountNamespace"})
_USER: Final = _ACCOUNT | {"userInfo", "roles", "clusterRoles"}
_SET_BY_SERVER: Final = frozenset(
    {("status",)}
    | {("metadata", name) for name in ("creationTimestamp", "generation", "managedFields")}
    | {("metadata", name) for name in ("resourceVersion", "uid")}
)
DEFAULTED: Final = frozenset(
    {"allocateLoadBalancerNodePorts", "backoffLimit", "completionMode", "completions"}
    | {"concurrencyPolicy", "defaultMode", "dnsPolicy", "enableServiceLinks"}
    | {"externalTrafficPolicy", "failedJobsHistoryLimit", "failureThreshold", "imagePullPolicy"}
    | {"internalTrafficPolicy", "ipFamilies", "ipFamilyPolicy", "manualSelector", "parallelism"}
    | {"periodSeconds", "podManagementPolicy", "podReplacementPolicy", "policyTypes"}
    | {"preemptionPolicy", "progressDeadlineSeconds", "protocol", "reclaimPolicy", "replicas"}
    | {"restartPolicy", "revisionHistoryLimit", "rollingUpdate", "schedulerName"}
    | {"scheme", "serviceAccount", "serviceAccountName", "sessionAffinity"}
    | {"strategy", "successThreshold", "successfulJobsHistoryLimit", "suspend", "targetPort"}
    | {"terminationGracePeriodSeconds", "terminationMessagePath", "terminationMessagePolicy"}
    | {"timeoutSeconds", "type", "updateStrategy", "volumeBindingMode", "volumeMode"}
)
"""Names of fields with defaults that rules read: the defaults themselves take long to load.

An empty default, such as that of `securityContext`, changes no result. Requests, which default to
limits, are left out: rules on them are common, and evaluating each failure again takes longer than
the rest of a run.
"""
_EQUALITIES: Final = frozenset({"Equals", "Equal", "In", "AnyIn", "AllIn"})
_OPERATION_KEY: Final = re.compile(r"\{\{\s*request\.operation\b[^{}]*\}\}$")
_WORD: Final = re.compile(r"\w+")
_LIMITS: Final = re.compile(
    r"\bkyvsim (?:does not support|is offline|only verifies|works offline)\b"
    r"|\bthe budget of [0-9,]+ steps for a \w+ is spent\b"
)


def is_limit_of_kyvsim(message: str) -> bool:
    """Return whether only kyvsim has this message: Kyverno would have queried data or continued."""
    return _LIMITS.search(message) is not None


_OF_REVIEWS: Final = frozenset(
    {"dryRun", "kind", "name", "options", "requestKind", "requestResource", "resource"}
    | {"requestSubResource", "subResource", "uid"}
)
_OF_REQUESTS: Final = (
    *sorted(_USER),
    *(f"request.{name}" for name in sorted(_OF_REVIEWS)),
    *("subjects", "oldObject", "namespaceObject", "namespaceSelector"),
)
_OF_OBJECTS: Final = tuple(sorted((DEFAULTED | {path[-1] for path in _SET_BY_SERVER}) - {"type"}))


def may_lack_input(rule: Rule, status: RuleStatus, obj: KubernetesObject | None) -> bool:
    """Return whether the result of a rule may depend on missing inputs, by the words in the rule.

    Collecting its field references takes longer than its evaluation, and most rules read only what
    is in every manifest.
    """
    if status is RuleStatus.SKIP:
        return _has_words(rule, (*_OF_REQUESTS, "operation"))
    # Only Services have a default type.
    is_service = obj is not None and obj.get("kind") == "Service"
    return _has_words(rule, (*_OF_REQUESTS, *_OF_OBJECTS, *("type",) * is_service))


@lru_cache(maxsize=2048)
def _has_words(rule: Rule, words: tuple[str, ...]) -> bool:
    return contains_text(rule.data, *words)


def missing_inputs(
    references: Iterable[FieldReference],
    outcome: Outcome,
    request: AdmissionRequest,
    scope: JSONContext,
    conditions: Json = None,
) -> Iterator[str]:
    """Yield a text for each missing input that the outcome of a rule may depend on.

    `conditions` are the match conditions of a policy in CEL, which decide whether it is skipped.

    `references` are the fields that the rule reads. An error, or the note of a rule that could not
    do its work, names what could not be read, so only that is reported. A failure may depend on
    all of them, a skipped rule on what decides whether it applies to a request.
    """
    status = outcome.status
    cause = {RuleStatus.ERROR: outcome.message, RuleStatus.PASS: outcome.note}.get(status)
    named = None if cause is None else set(_WORD.findall(cause))
    fields: dict[tuple[str, str], dict[str, None]] = {}
    written: tuple[str, ...] = ()
    if conditions and status is RuleStatus.SKIP and contains_text(conditions, "request.operation"):
        written = tuple(one.value for one in Operation if contains_text(conditions, one.value))
    for one in references:
        names = {step for step in one.path if isinstance(step, str)}
        if named is not None and named.isdisjoint({*names, one.about.value}):
            continue
        is_operation = one.about is Subject.REQUEST and one.path == ("operation",)
        # Other operations are those of its match constraints, which the request fulfils.
        read = one._replace(values=written) if conditions and is_operation else one
        missing = _missing(read, status, request, scope)
        if missing:
            field, what, remedy = missing
            fields.setdefault((what, remedy), {})[f"`{field}`"] = None
    for (what, remedy), names_read in fields.items():
        yield f"{MISSING_INPUT}{what}, and the rule reads {', '.join(names_read)}: {remedy}"


def _missing(
    reference: FieldReference,
    status: RuleStatus,
    request: AdmissionRequest,
    scope: JSONContext,
) -> tuple[str, str, str] | None:
    """Return the field, why it is missing, and how to provide it; None if it is not missing."""
    about, path = reference.about, reference.path
    if about is Subject.REQUEST:
        return _missing_of_request(reference, status, request, scope)
    if about is Subject.OLD_OBJECT:
        given = request.details or _values(scope).get("oldObject")
        if request.operation is Operation.CREATE and not given:
            remedy = "pass it with --old-resource FILE, in tests `operation: UPDATE` in the row"
            return _shown(("oldObject", *path)), "a CREATE request has no old object", remedy
    elif about is Subject.NAMESPACE:
        name = object_key(request.subject).namespace
        if name and not _knows_namespace(name, scope.external):
            remedy = "add it to the resources, in tests as `namespaces` to the values file"
            return _shown(("namespaceObject", *path)), f"Namespace `{name}` is not given", remedy
    elif about is Subject.OBJECT and status is not RuleStatus.SKIP:
        from_server = path[:1] if path[:1] == ("status",) else path[:2]
        if from_server in _SET_BY_SERVER and _lacks(request.subject, from_server):
            what = f"the object has no `{_shown(from_server)}`, which a cluster sets"
            remedy = "add it, or use the object of a cluster (`kubectl get -o yaml`)"
            return _shown(path), what, remedy
    return None


def _missing_of_request(
    reference: FieldReference, status: RuleStatus, request: AdmissionRequest, scope: JSONContext
) -> tuple[str, str, str] | None:
    root = reference.path[:1]
    if root == ("operation",):
        lists = (one if isinstance(one, list) else [one] for one in reference.values)
        values = [*chain.from_iterable(lists)]
        names = [one for one in Operation if one.value in values]
        assumed = request.operation is Operation.CREATE and not request.details
        if status is RuleStatus.SKIP and assumed and names and "CREATE" not in names:
            what = f"the request is assumed to be a CREATE, not {' or '.join(map(str, names))}"
            remedy = f"pass --operation {names[0]}, in tests `operation: {names[0]}` in the row"
            return "request.operation", what, remedy
    elif root and root[0] in _OF_REVIEWS and not request.details and root[0] not in _values(scope):
        field, own = f"request.{root[0]}", ""
        if root[0] == "name":
            own = "; or read `request.object.metadata.name`"
        remedy = f"pass one as a resource, or set `{field}` in the values file{own}"
        return field, "no AdmissionReview is given", remedy
    elif root and root[0] in _USER and not (request.user or _values(scope).get("userInfo")):
        field = str(root[0]) if root[0] in _ACCOUNT else _shown(("request", *reference.path[:2]))
        return field, "no user is given", _giving(reference.path[:2])
    return None


def _giving(field: FieldPath) -> str:
    """Return how to provide a field of the user."""
    roles = next((step for step in field if step in {"roles", "clusterRoles"}), None)
    if roles:
        return f"pass --userinfo FILE with `{roles}: [NAME]`, in tests `userinfo: FILE`"
    group = " --as-group GROUP" if "groups" in field else ""
    return f"pass --as USER{group} or --userinfo FILE, in tests `userinfo: FILE`"


def _values(scope: JSONContext) -> dict[str, Json]:
    """Return the fields of the request, with those that the values file sets."""
    fields = scope.root(frozenset()).get("request")
    return fields if isinstance(fields, dict) else {}


def _knows_namespace(name: str, external: ExternalData) -> bool:
    if external.namespaces.get(name):
        return True
    return external.answers_calls and bool(external.cluster.get("v1", "Namespace", "", name))


def _lacks(value: Json, path: FieldPath) -> bool:
    """Return whether a value, or any of the elements on the path, has no such field."""
    if not path:
        return value is None
    step, rest = path[0], path[1:]
    if isinstance(step, Segment):
        items = [*value.values()] if isinstance(value, dict) else value
        return isinstance(items, list) and any(_lacks(one, rest) for one in items)
    return not isinstance(value, dict) or _lacks(value.get(step), rest)


def _shown(path: FieldPath) -> str:
    """Return a path as people write it: `spec.containers[].image`."""
    names = (step if isinstance(step, str) else step.value for step in path)
    return ".".join(names).replace(".[]", "[]")


_ACCOUNTS: Final = "system:serviceaccount:"


def unmet_subjects(rule: Rule, request: AdmissionRequest) -> Iterator[str]:
    """Yield subjects of an exclude block that are written like the service account of a request.

    The user name of a ServiceAccount has its namespace: no User or Group has the short name.
    """
    username = request.user.username if request.user else ""
    if rule.tree.exclude is None or not username.startswith(_ACCOUNTS):
        return
    namespace, _, name = username.removeprefix(_ACCOUNTS).partition(":")
    for one in rule.tree.exclude.effective:
        for subject in one.subjects or ():
            if subject.kind != "ServiceAccount" and subject.name == name:
                yield (
                    f"`exclude` is for the {subject.kind} `{name}`, and the user is a service "
                    f"account: write `kind: ServiceAccount` with `namespace: {namespace}`"
                )


# Errors whose text, which is Kyverno's or that of a library, does not say what to do.

_REMEDIES: Final = (
    (
        r"template\.metadata\.(name|namespace)\b",
        (
            "a Pod template, which autogen rules read, has no `{0}`: use `request.{0}`, or exclude "
            "controllers with `pod-policies.kyverno.io/autogen-controllers: none`"
        ),
    ),
    (
        r'is forbidden: User "system:serviceaccount:[^:"]+:kyverno-(\S+-controller)" cannot (\w+)',
        (
            "grant the permission ({1}) with a ClusterRole that has the label "
            '`rbac.kyverno.io/aggregate-to-{0}: "true"`'
        ),
    ),
    (
        r"no such key: namespace$",
        (
            "objects that are in no namespace, such as Namespaces, have no `namespace`: read "
            "`object.metadata.name`, or `.?namespace.orValue(…)`"
        ),
    ),
    (
        r"no such key: ([A-Za-z_]\w*)$",
        "there is no `{0}`: test it with `has()`, or read `.?{0}.orValue(…)`",
    ),
    (
        r"no such key: (\S+)$",
        "there is no `{0}`: test it with `'{0}' in …`, or read `[?'{0}'].orValue(…)`",
    ),
    (
        r"no such overload\b",
        (
            "an operator or function gets a value of a type that it does not take, such as null or "
            "a string instead of a number: convert or test the value first"
        ),
    ),
    (
        r"index out of bounds: (\d+)$",
        (
            "the list has no element {0} (the first is 0): test `size(…) > {0}`, or use `all` or "
            "`exists`"
        ),
    ),
    (
        r"error in remove .*Unable to access invalid index",
        (
            "the list has no such element: test its size, and remove the last element first if "
            "several are removed"
        ),
    ),
    (r"quantities must match", "the value is not a quantity: test it with `isQuantity(…)`"),
    (
        r"type conversion error from '(\w+)' to '(\w+)'",
        "the {0} is not a valid {1}: test it first, such as with `matches(…)`",
    ),
    (
        r'failed to resolve request\.object\b.*Unknown key "object" in path',
        "no request starts a cleanup, so `request.object` has no value: write `target`",
    ),
    (
        r'^(?!.*rror from server).* "[^"]*" not found$',
        "correct the name and the namespace, or create the object before the rule is triggered",
    ),
    (
        r'Unknown key "([^"]+)" in path',
        (
            "there is no `{0}`: check its spelling, or give the variable a default: "
            "{{{{ VARIABLE || '' }}}}"
        ),
    ),
    (
        r"Invalid type for: <nil>",
        (
            "the argument is null, as when a field is absent: give it a default, such as "
            "`FIELD || ''`, or the literal `[]`"
        ),
    ),
    (
        r"Invalid type for: ",
        (
            "the function takes another type: convert the argument first, as with `to_string`, "
            "`to_number`, `keys` or `values`"
        ),
    ),
    (
        r"error parsing regexp: missing argument to repetition",
        "not a regular expression: write `.*` for `*` of a wildcard",
    ),
    (
        r"failed to decode patches: invalid state detected",
        (
            "a patch that begins with `[` is read as JSON: put its keys and strings in double "
            "quotes, or write a list in YAML, each operation after `-`"
        ),
    ),
    (
        r"replace operation does not apply: doc is missing",
        (
            "the object has nothing at this path: write `add`, which also sets a missing field, or "
            "test that in a precondition or expression"
        ),
    ),
    (
        r"(?:remove|test) operation does not apply: doc is missing",
        "the object has nothing at this path: test that in a precondition or expression",
    ),
    (
        r'doc is missing path: "?(/\S*metadata/(?:labels|annotations)/)([^/\s"]+)/([^/\s":]+)',
        "`/` in a key is `~1`: write `{0}{1}~1{2}`",
    ),
    (
        r"add operation does not apply: doc is missing",
        (
            "the parent of the path has to exist: add it first, or merge "
            "(`patchStrategicMerge`, ApplyConfiguration)"
        ),
    ),
    (
        r"Unexpected kind: ",
        "the operations of JSON patches are add, copy, move, remove, replace and test",
    ),
    (
        r"kyvsim is offline: no data of the image",
        "only `kyvsim apply` and `test` have data of images (--context-file)",
    ),
    (
        r"failed to resolve digest for image",
        (
            "write the image as `NAME@sha256:…`, or set "
            "`validationConfigurations: {{mutateDigest: false}}`"
        ),
    ),
    (
        r"field not declared in schema",
        "the kind has no such field: correct its name, or use `patchType: JSONPatch`",
    ),
    (r": expected (\w+), got ", "the field has the type {0}: write such a value"),
)
"""Patterns of errors, and texts with their groups. Most runs have no errors: none is compiled."""
_IN_CEL: Final = " resulted in error: "
_OF_MESSAGES: Final = "failed to evaluate message expression: "


def error_text(outcome: Outcome) -> str:
    """Return the error of an outcome: of its rule, or of a part without which it passes; or ""."""
    status, message = outcome.status, outcome.message
    if status is RuleStatus.PASS:
        return outcome.note
    is_error = status is RuleStatus.ERROR
    failing = status is RuleStatus.FAIL
    is_error = is_error or (failing and (_IN_CEL in message or message.startswith(_OF_MESSAGES)))
    return message if is_error else ""


def remedy_for(error: str) -> str:
    """Return what to do about an error, or ""."""
    if not error:
        return ""
    query = re.search(r"(?s)incorrect query (.*): SyntaxError: ", error)
    if query:
        if "{{" in query[1]:
            return "this field is an expression: write it without the braces `{{ }}`"
        return note_on_syntax(query[1]).removeprefix("note: ")
    function = re.search(r"unknown function: (\w+)", error)
    if function:
        meant = instead_of(function[1]) or ": `kyvsim lint` checks all names"
        return f"JMESPath and Kyverno have no function `{function[1]}`{meant}"
    found = ((re.search(pattern, error), remedy) for pattern, remedy in _REMEDIES)
    return next((remedy.format(*match.groups()) for match, remedy in found if match), "")


def assumed_request(rule: Rule, status: RuleStatus, request: AdmissionRequest) -> Iterator[str]:
    """Yield why a rule passes or errs for any object: the request that it tests is assumed."""
    if request.details or status not in {RuleStatus.PASS, RuleStatus.ERROR}:
        return
    if request.operation is Operation.CREATE and status is RuleStatus.PASS:
        names = _denied_operations(rule)
        if names:
            yield (
                f"{MISSING_INPUT}the request is assumed to be a CREATE, and the rule only denies "
                f"{' and '.join(names)}: pass --operation {names[0]}, in tests "
                f"`operation: {names[0]}` in the row"
            )
    old = request.old_object
    if (
        request.operation is Operation.UPDATE
        and (old is None or old is request.object)
        and _has_words(rule, ("oldObject",))
    ):
        yield (
            f"{MISSING_INPUT}no old object is given, so `oldObject` is the object itself: pass it "
            "with --old-resource FILE"
        )


@lru_cache(maxsize=2048)
def _denied_operations(rule: Rule) -> tuple[str, ...]:
    """Return the operations that a rule denies; () if it may deny others, too."""
    validate = rule.tree.validate
    block = validate and validate.deny and validate.deny.conditions
    for group in block.effective if block else ():
        for alternatives in ((group.any or ()), *((one,) for one in group.all or ())):
            values = [
                one.value if isinstance(one.value, list) else [one.value] for one in alternatives
            ]
            if alternatives and all(
                one.operator in _EQUALITIES
                and _OPERATION_KEY.match(str(one.key))
                and "CREATE" not in names
                for one, names in zip(alternatives, values, strict=True)
            ):
                names = {str(name) for each in values for name in each}
                return tuple(one.value for one in Operation if one.value in names)
    return ()


def missing_defaults(
    references: Iterable[FieldReference],
    obj: KubernetesObject,
    again: Callable[[KubernetesObject], RuleStatus | None],
) -> Iterator[str]:
    """Yield a text if a rule that did not pass ends differently with an API server's defaults.

    `again` returns the status of the rule for another object, None if it ends in the same way.
    """
    lacking = [
        one.path
        for one in references
        if one.about is Subject.OBJECT
        and not DEFAULTED.isdisjoint(one.path)
        and _lacks(obj, one.path)
    ]
    if not lacking:
        return
    whole = as_stored(obj)
    fields = [f"`{_shown(path)}`" for path in lacking if not _lacks(whole, path)]
    status = again(whole) if fields else None
    if status in {RuleStatus.PASS, RuleStatus.FAIL, RuleStatus.ERROR}:
        result = "another error" if status is RuleStatus.ERROR else f"`{status}`"
        yield (
            f"{MISSING_INPUT}the result is {result} with the defaults that an API server sets "
            f"for {', '.join(dict.fromkeys(fields))}: add them, or use `kyvsim simulate`"
        )
