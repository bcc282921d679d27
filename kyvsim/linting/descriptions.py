"""Checks of rules that do less than their own texts say.

Only words that leave no doubt count, and none if the texts also contain the opposite.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple, TypeAlias

from kyvsim.cel.nodes import Call, Literal, Loop, Node, Select, children, dotted_name
from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.objects import Path, metadata
from kyvsim.linting.cel_policy import CelPolicy, is_name
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
        message = spec.validations[int(one.path[2])].message if one.is_test else ""
        if not one.is_test or not _EACH.is_in(f"{said} {message}"):
            continue
        loop = one.root
        if isinstance(loop, Loop) and loop.kind == "exists" and _reads_object(loop.source):
            text = "`exists` needs one element, although the policy is about all: write `all`"
            yield policy.warn("KV391", text, one.path)
        elif any(map(_is_first_element, one.nodes())):
            text = "`[0]` is only the first element, although the policy is about all: write `all`"
            yield policy.warn("KV391", text, one.path)
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


def _reads_object(node: Node) -> bool:
    return is_name(node, "object") or any(map(_reads_object, children(node)))


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
    requires, checks_each, replaces = (claim.is_in(said) for claim in (_REQUIRED, _EACH, _FORCED))
    for entry in _entries(validate.pattern if validate else None):
        problem = ""
        if entry.anchor == EXISTENCE and checks_each:
            problem = "is fulfilled by one element, although the rule is about all"
        elif entry.anchor == EQUALITY and requires and _has_required_field(entry):
            problem = "is only checked if it is set, although the rule requires it"
        if problem:
            yield entry, f"`{entry.text}` {problem}: write `{entry.key}`"
    for entry in _entries(mutate.patch_strategic_merge if mutate else None):
        if entry.anchor == ADDITION and replaces:
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
