"""Checks of rules that do less than their own texts say.

Only words that leave no doubt count, and none if the texts also contain the opposite.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from kyvsim.cel.macros import OR_VALUE
from kyvsim.cel.nodes import Call, Literal, Loop, Node, Select, children, dotted_name
from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.objects import Path, metadata
from kyvsim.linting.cel_policy import CelPolicy, ParsedExpression, is_name
from kyvsim.linting.traversal import nodes_of
from kyvsim.model.diagnostic import ChangeKind, Diagnostic, Fix, change
from kyvsim.model.policy import Policy, Rule
from kyvsim.policy.anchors import ADDITION, EQUALITY, EXISTENCE
from kyvsim.policy.autogen import ANNOTATION, blocker_of, contains_pod
from kyvsim.policy.images import AttestorSet
from kyvsim.policy.rule import Generate
from kyvsim.policy.tree import Condition, Deny, Pattern, PatternEntry, PatternLeaf, PatternMap
from kyvsim.policy.visit import walk

_Found: TypeAlias = tuple[Path, str]


class _Claim(NamedTuple):
    """What a text says, by its words; words of the second expression cancel it."""

    words: str
    unless: str = r"(?!)"

    def is_in(self, text: str) -> bool:
        found = re.search(rf"\b(?:{self.words})\b", text, re.IGNORECASE)
        return bool(found) and not re.search(rf"\b(?:{self.unless})\b", text, re.IGNORECASE)


_ONE_OF: Final = r"at least one|one of the|any of|either"
_EACH: Final = _Claim("all|every|each|only", _ONE_OF)
_NONE: Final = _Claim("no|none|must not|may not|not allowed|disallow|forbid(?:den)?", _ONE_OF)
_REQUIRED: Final = _Claim(
    r"must (?:be )?set|has to set|have to set|required|mandatory|is rejected|are rejected",
    "if (?:it is )?(?:set|specified|present|defined)|when (?:set|specified|defined)",
)
_FORCED: Final = _Claim(
    "forces?|forced|overwrit(?:e|es|ten)|overrid(?:e|es|den)|regardless|whatever",
    "not (?:overwritten|overridden|replaced|forced)|without|unless|already|missing|absent|default",
)
_RESTORED: Final = _Claim(
    "restored?|re-?created|reverted|kept in sync|stays? in sync|synchroni[sz]ed",
    "(?:not|never) (?:be )?(?:restored|re-?created|reverted|kept|synchroni[sz]ed)",
)
_EXISTING: Final = _Claim(
    "existing (?:namespaces|objects|resources)|exist already|already exist(?:ing)?",
    "new|not|unless|if|when|only",
)
_BOTH: Final = _Claim(
    "both|(?:two|three) signatures|(?:all|each|every)(?: of the)? (?:signer|signature|key)s?",
    "at least one|either",
)
_CONTROLLERS: Final = _Claim("deployments?|statefulsets?|daemonsets?|cronjobs?|replicasets?")
_LIST: Final = re.compile(r"\[(?:\]|\*|\?)")
"""A projection in JMESPath: its result is a list."""


def understated_rules(policy: Policy) -> Iterator[Diagnostic]:
    """KV391: a rule that does less than its name, its message or its description says."""
    for rule in policy.rules:
        said = _texts(policy, rule)
        for entry, text in _patterns(rule, said):
            plain = change(policy.document, ChangeKind.KEY, entry.path, entry.key)
            fix = Fix(f"use {entry.key}", (plain,))
            yield warn(policy.document, "KV391", text, entry.path, fix=fix)
        for path, text in (
            *_conditions(rule, said),
            *_other_parts(policy, rule, said),
        ):
            yield warn(policy.document, "KV391", text, path)


def understated_cel_policies(policy: CelPolicy) -> Iterator[Diagnostic]:
    """KV391: a policy in CEL that does less than its name, its messages or its description say."""
    said, spec = _about(policy.policy), policy.spec
    for one in policy.expressions:
        if not one.is_test:
            continue
        about = f"{said} {spec.validations[int(one.path[2])].message}"
        problems = filter(None, (_misquantified(policy, test, about) for test in _parts(one.root)))
        problem = next(problems, "")
        if not problem and any(map(_is_first_element, one.nodes())) and _EACH.is_in(about):
            problem = (
                "`[0]` is only the first element, although the policy is about all: write `all`"
            )
        if problem:
            yield policy.warn("KV391", problem, one.path)
    if policy.kind == "GeneratingPolicy":
        for claim, done, text in (
            (
                _RESTORED,
                spec.evaluation.synchronize,
                _UNSYNCHRONIZED % "evaluation.synchronize.enabled: true",
            ),
            (
                _EXISTING,
                spec.evaluation.generate_existing,
                _ONLY_NEW % "evaluation.generateExisting.enabled: true",
            ),
        ):
            if not done and claim.is_in(said):
                yield policy.warn("KV391", text, ("spec", "evaluation"))


def _is_first_element(node: Node) -> bool:
    """Return whether a node is the first element of a list of an object."""
    if not isinstance(node, Call) or node.function not in {"_[_]", "_[?_]"}:
        return False
    owner, key = children(node)[:2]
    is_first = isinstance(key, Literal) and key.value == 0
    return is_first and isinstance(owner, Select) and dotted_name(owner).startswith("object.")


def _parts(node: Node) -> Iterator[Node]:
    """Yield the parts of an expression that `&&` and `||` join."""
    if isinstance(node, Call) and node.function in {"_&&_", "_||_"}:
        for one in node.arguments:
            yield from _parts(one)
    else:
        yield node


_SINGLE: Final = frozenset({"exists", "exists_one", "existsOne"})


def _misquantified(policy: CelPolicy, node: Node, about: str) -> str:
    """Return why a test of some elements is not what a text says about all of them, or ""."""
    is_negated = isinstance(node, Call) and node.function == "!_"
    loop = node.arguments[0] if isinstance(node, Call) and is_negated else node
    counted = _counted(node)
    if counted is not None:
        loop, is_negated = counted, False
    if not isinstance(loop, Loop) or loop.test is None:
        return ""
    owner = _list_of_object(policy, loop.source)
    if not owner:
        return ""
    # A text about all elements names them, or what the loop reads of them.
    read = [
        one.field for one in ParsedExpression((), "", loop.test).nodes() if isinstance(one, Select)
    ]
    words = {owner, *read} - {"", "name", "metadata"}
    nouns = "|".join(re.escape(one.removesuffix("s")) for one in sorted(words))
    each = _Claim(
        rf"(?:all|every|each|only)(?: (?!pods?|deployments?)[\w-]+){{0,2}} (?:\w*(?:{nouns}))s?",
        _ONE_OF,
    )
    none = _Claim(rf"no (?:\w*(?:{nouns}))s?", _ONE_OF)
    one_of = _Claim(rf"at least one (?:\w*(?:{nouns}))s?", "all|every|each")
    if is_negated:
        is_wrong = loop.kind == "all" and (none.is_in(about) or each.is_in(about))
        return _TOO_FEW % ("!list.all(…)", "list.all(…)` or `!list.exists(…)") if is_wrong else ""
    if loop.kind == "all" and one_of.is_in(about):
        return "`all` tests each element, although one is enough for the policy: write `exists`"
    is_single = loop.kind in _SINGLE or counted is not None
    return _TOO_FEW % (loop.kind, "all") if is_single and each.is_in(about) else ""


_TOO_FEW: Final = "`%s` needs one element, although the policy is about all: write `%s`"


def _counted(node: Node) -> Loop | None:
    """Return the filter of `list.filter(…).size() > 0`."""
    if not isinstance(node, Call) or node.function not in {"_>_", "_>=_", "_!=_"}:
        return None
    size, least = node.arguments
    is_some = isinstance(least, Literal) and least.value == (1 if node.function == "_>=_" else 0)
    inner = children(size)[0] if isinstance(size, Call) and size.function == "size" else None
    is_filter = isinstance(inner, Loop) and inner.kind == "filter"
    return inner if is_some and is_filter and isinstance(inner, Loop) else None


def _list_of_object(policy: CelPolicy, node: Node) -> str:
    """Return the last field of a list of the object, also behind variables and defaults; or ""."""
    variable = policy.variable(node)
    if variable is not None:
        return _list_of_object(policy, variable.root)
    if isinstance(node, Loop) and node.kind == "filter":
        return _list_of_object(policy, node.source)
    if isinstance(node, Call) and node.function in {"orValue", OR_VALUE, "_+_"}:
        return _list_of_object(policy, children(node)[0])
    here = node
    while isinstance(here, Select):
        here = here.operand
    if is_name(here, "images"):
        return "images"
    return node.field if isinstance(node, Select) and is_name(here, "object") else ""


_UNSYNCHRONIZED: Final = "without `%s`, generated objects stay as users leave them"
_ONLY_NEW: Final = "without `%s`, nothing is generated for the objects that exist already"


def controllers_left_out(policy: Policy) -> Iterator[Diagnostic]:
    """KV207: a policy for Pods without autogen rules whose texts are about controllers, too."""
    rules = [rule for rule in policy.rules if rule.tree.validate]
    annotations = metadata(policy.document.data).get("annotations") or {}
    named = annotations.get(ANNOTATION)
    said = " ".join(_texts(policy, rule) for rule in rules)
    subject = str(annotations.get("policies.kyverno.io/subject") or "")
    if named == "none" or not (named or _CONTROLLERS.is_in(f"{said} {subject}")):
        return
    blocking = [(rule, blocker_of(rule.tree)) for rule in rules]
    if not all(why for _, why in blocking) or not all(_is_about_pods(rule) for rule in rules):
        return
    for rule, why in blocking:
        text = (
            f"no rules are derived for Pod controllers, because {why}, although the policy is "
            "about controllers, too: move the criterion to `preconditions`, or match the "
            "controllers in a rule of their own"
        )
        yield warn(policy.document, "KV207", text, rule.path)


def _is_about_pods(rule: Rule) -> bool:
    matched = rule.tree.match.effective
    return bool(matched) and all(len(one.kinds) == 1 and contains_pod(one.kinds) for one in matched)


def _texts(policy: Policy, rule: Rule) -> str:
    """Return what a rule says about itself; the description of a policy is about all its rules."""
    message = rule.tree.validate.message if rule.tree.validate else ""
    own = f"{rule.name.replace('-', ' ')} {message or ''}"
    return f"{own} {_about(policy)}" if len(policy.rules) == 1 else own


def _about(policy: Policy) -> str:
    annotations = metadata(policy.document.data).get("annotations") or {}
    parts = (annotations.get(f"policies.kyverno.io/{name}") for name in ("title", "description"))
    return " ".join([policy.name.replace("-", " "), *(str(one) for one in parts if one)])


def _patterns(rule: Rule, said: str) -> Iterator[tuple[PatternEntry, str]]:
    validate, mutate = rule.tree.validate, rule.tree.mutate
    for entry in _entries(validate.pattern if validate else None):
        problem = ""
        if entry.anchor == EXISTENCE and _EACH.is_in(said):
            problem = "is fulfilled by one element, although the rule is about all"
        elif entry.anchor == EQUALITY and _has_required_field(entry) and _REQUIRED.is_in(said):
            problem = "is only checked if it is set, although the rule requires it"
        if problem:
            yield entry, f"`{entry.text}` {problem}: write `{entry.key}`"
    for entry in _entries(mutate.patch_strategic_merge if mutate else None):
        if entry.anchor == ADDITION and _FORCED.is_in(said):
            problem = "keeps a value that is set, although the rule replaces it"
            yield entry, f"`{entry.text}` {problem}: write `{entry.key}`"


def _entries(pattern: Pattern | None) -> Iterator[PatternEntry]:
    parts = walk(pattern.root) if pattern else ()
    return (one for one in parts if isinstance(one, PatternEntry))


def _has_required_field(entry: PatternEntry) -> bool:
    inside = entry.value
    return isinstance(inside, PatternMap) and any(
        one.anchor is None and isinstance(one.value, PatternLeaf) for one in inside.entries
    )


_WHOLE: Mapping[str, tuple[_Claim, str, str]] = {
    "AllNotIn": (_EACH, "none of the values is in the list", "AnyNotIn"),
    "AllIn": (_NONE, "all of the values are in the list", "AnyIn"),
}


def _conditions(rule: Rule, said: str) -> Iterator[_Found]:
    denials = (node for node in nodes_of(rule) if isinstance(node, Deny))
    for one in chain.from_iterable(map(walk, denials)):
        if not isinstance(one, Condition) or one.operator not in _WHOLE:
            continue
        claim, when, instead = _WHOLE[one.operator]
        if isinstance(one.key, str) and _LIST.search(one.key) and claim.is_in(said):
            text = f"`{one.operator}` only denies if {when}: write `{instead}` if one is enough"
            yield (*one.path, "operator"), text


def _generates_existing(policy: Policy) -> bool:
    names = ("generateExisting", "generateExistingOnPolicyUpdate")
    return any(policy.spec.get(name) for name in names)


def _other_parts(policy: Policy, rule: Rule, said: str) -> Iterator[_Found]:
    for node in nodes_of(rule):
        if isinstance(node, Generate):
            if not node.synchronize and _RESTORED.is_in(said):
                place = () if node.synchronize is None else ("synchronize",)
                yield (*node.path, *place), _UNSYNCHRONIZED % "synchronize: true"
            generates_existing = node.generate_existing or _generates_existing(policy)
            if not generates_existing and _EXISTING.is_in(said):
                yield node.path, _ONLY_NEW % "generateExisting: true"
        elif (
            isinstance(node, AttestorSet)
            and 0 < (node.required or 0) < len(node.entries)
            and _BOTH.is_in(said)
        ):
            text = (
                f"`count: {node.required}` accepts images with {node.required} of "
                f"{len(node.entries)} signatures: without `count`, all have to sign"
            )
            yield (*node.path, "count"), text
