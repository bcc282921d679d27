"""The webhooks for policies in CEL.

Policies with conditions, an exact match or a timeout have one of their own; the others share one
for each failure policy and pair of selectors.

Source of the rules: upstream pkg/controllers/webhook/validating.go.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel import webhook_facts_of
from kyvsim.languages.cel.facts import WebhookFacts
from kyvsim.model.policy import Policy
from kyvsim.simulator.kyverno.cel_admission import own_webhook_name
from kyvsim.simulator.webhooks.rules import Selectors, in_order, merged_selector, webhook


class _Asked(NamedTuple):
    policy: Policy
    facts: WebhookFacts
    selectors: Selectors


def cel_webhooks(
    policies: Iterable[Policy], base: str, path: str, installed: Selectors
) -> Iterator[Json]:
    """Yield the webhooks for policies of one kind; `base` and `path` begin names and paths."""
    asked = [
        _Asked(one, facts, _selectors(one, facts, installed))
        for one in policies
        if (facts := webhook_facts_of(one)) and one.facts.admission
    ]
    for one in sorted((one for one in asked if one.facts.alone), key=_place):
        yield _own(one, base, path)
    yield from _shared([one for one in asked if not one.facts.alone], base, path)


def _place(one: _Asked) -> tuple[str, str]:
    return one.policy.namespace, one.policy.name


def _own(one: _Asked, base: str, path: str) -> Json:
    conditions = [{"name": name, "expression": text} for name, text in one.facts.conditions]
    own = {"timeoutSeconds": one.facts.timeout} if one.facts.timeout is not None else {}
    return webhook(
        own_webhook_name(one.policy, base),
        f"{path}/{one.policy.name}",
        failurePolicy="Fail" if one.policy.facts.fails_closed else "Ignore",
        matchPolicy="Exact" if one.facts.exact else None,
        matchConditions=conditions or None,
        namespaceSelector=one.selectors.namespace,
        objectSelector=one.selectors.object,
        rules=in_order(one.facts.rules),
        **own,
    )


def _shared(asked: list[_Asked], base: str, path: str) -> Iterator[Json]:
    groups: dict[str, list[_Asked]] = {}
    for one in asked:
        groups.setdefault(_key(one.selectors), []).append(one)
    for key in sorted(groups):
        some = groups[key]
        suffix = f"-{key[:8]}" if len(groups) > 1 else ""
        names = "/".join(sorted(one.policy.name for one in some))
        for closed in (True, False):
            rules = [
                rule
                for one in some
                if one.policy.facts.fails_closed is closed
                for rule in one.facts.rules
            ]
            if rules:
                yield webhook(
                    f"{base}-{'fail' if closed else 'ignore'}{suffix}",
                    f"{path}/{names}",
                    failurePolicy="Fail" if closed else "Ignore",
                    namespaceSelector=some[0].selectors.namespace,
                    objectSelector=some[0].selectors.object,
                    rules=in_order(rules),
                )


def _key(selectors: Selectors) -> str:
    # The names of groups come from a digest; upstream's is over its own texts.
    text = json.dumps(selectors, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _selectors(policy: Policy, facts: WebhookFacts, installed: Selectors) -> Selectors:
    namespace = facts.namespace_selector
    if policy.namespace:
        label, here = "kubernetes.io/metadata.name", [policy.namespace]
        namespace = {"matchExpressions": [{"key": label, "operator": "In", "values": here}]}
    return Selectors(
        merged_selector(namespace, installed.namespace),
        merged_selector(facts.object_selector, installed.object),
    )
