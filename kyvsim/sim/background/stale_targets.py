"""Objects that a changed rule does not generate any more: they lose the labels of their policy.

Source of the rules: upstream pkg/policy/generate.go (ruleChange, unlabelDownstream).
"""

from collections.abc import Iterator

from kyvsim.kube.gvk import parse_kind_selector
from kyvsim.kube.objects import Json, labels
from kyvsim.model.facts import GeneratePattern
from kyvsim.model.policy import Policy
from kyvsim.sim.background.ownership import LABEL, selected
from kyvsim.sim.kyverno.users import BACKGROUND
from kyvsim.sim.parts import Parts
from kyvsim.sim.server import Purpose
from kyvsim.sim.server.metadata import with_metadata

_OWNER = tuple(f"{LABEL}{name}" for name in ("policy-name", "policy-namespace", "rule-name"))


def release_stale_targets(before: Policy, policy: Policy, parts: Parts) -> None:
    """Take the owner's labels from what rules generated whose target or source has changed."""
    for rule, kind in _stale_kinds(before, policy):
        purpose = Purpose(
            "release", (f"{policy.key}/{rule}",), "the rule generates another object now"
        )
        wanted = dict(zip(_OWNER, (policy.name, policy.namespace, rule), strict=True))
        for obj in _of_kind(kind, wanted, parts):
            kept = {name: value for name, value in labels(obj).items() if name not in _OWNER}
            parts.client(BACKGROUND, purpose).update(with_metadata(obj, {"labels": kept}))


def _of_kind(text: str, wanted: dict[str, str], parts: Parts) -> Iterator[Json]:
    kind = parse_kind_selector(text).kind
    for api_version, known in [*parts.store.kinds()]:
        if known == kind:
            yield from selected(parts.store, api_version, kind, wanted)


def _stale_kinds(before: Policy, policy: Policy) -> Iterator[tuple[str, str]]:
    """Give rules with a kind of which they generated what they do not any more."""
    now = {rule.name: rule.facts.generation for rule in policy.rules}
    for rule in before.rules:
        old, new = rule.facts.generation, now.get(rule.name)
        if old is None or new is None:
            continue
        pairs = [(old.whole, new.whole)]
        pairs += [
            (one, other)
            for one in old.loops or ()
            for other in new.loops or ()
            if one.list == other.list
        ]
        for one, other in pairs:
            # upstream looks for the kind of the rule, also where that of a loop has changed.
            if _target(one) != _target(other) and old.whole.kind:
                yield rule.name, old.whole.kind
            if (one.clone_list or None) != (other.clone_list or None):
                yield from ((rule.name, kind) for kind in old.whole.clone_kinds)


def _target(made: GeneratePattern) -> tuple[Json, ...]:
    """Return what is made, and of which source."""
    return made.api_version, made.kind, made.namespace, made.name, made.clone or None
