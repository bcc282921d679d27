"""What is written in place of a deprecated field, where that means the same.

There is no fix where a rule says otherwise already, or where both fields stand side by side: what
counts then is for the author to say.
"""

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from kyvsim.kubernetes.objects import Json
from kyvsim.model.diagnostic import Change, Fix, Way, change
from kyvsim.model.policy import Policy, Rule
from kyvsim.model.source import Path

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9./_-]*")
"""Texts that need no quotes anywhere."""
_NO_TEXTS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})

_Changes = tuple[Change, ...]
_Mover = Callable[[Policy, Json, Path], _Changes]


def successor_of(policy: Policy, data: Json, path: Path) -> Fix | None:
    """Return what puts the successor in place of the deprecated field at `path` of `data`."""
    name = str(path[-1])
    mover = _MOVERS.get(name)
    changes = mover(policy, data, path) if mover else ()
    return Fix(_TITLES.get(name, f"move `{name}`"), changes) if changes else None


def _left_out(policy: Policy, _: Json, path: Path) -> _Changes:
    return (change(policy.document, Way.REMOVE, path),)


def _into_webhook(name: str) -> _Mover:
    """Return what moves a field of the policy into its `webhookConfiguration`."""

    def move(policy: Policy, data: Json, path: Path) -> _Changes:
        entry = f"{name}: {_word(data[path[-1]])}"
        webhook = data.get("webhookConfiguration")
        if webhook is None and "webhookConfiguration" not in data:
            text = f"webhookConfiguration:\n  {entry}"
            return (change(policy.document, Way.ENTRY, path, text),)
        if not webhook or name in webhook:
            return ()
        added = change(policy.document, Way.ADD, (*path[:-1], "webhookConfiguration"), entry)
        return change(policy.document, Way.REMOVE, path), added

    return move


def _into_rules(section: str, name: str, fits: Callable[[Rule], bool]) -> _Mover:
    """Return what moves a field of the policy into those of its rules which it is about."""

    def move(policy: Policy, data: Json, path: Path) -> _Changes:
        rules = [one for one in policy.rules if fits(one)]
        if not rules or any(name in one.data[section] for one in rules):
            return ()
        entry = f"{name}: {_word(data[path[-1]])}"
        places = [(*one.path, section) for one in rules]
        added = (change(policy.document, Way.ADD, place, entry) for place in places)
        return change(policy.document, Way.REMOVE, path), *added

    return move


def _action(policy: Policy, data: Json, path: Path) -> _Changes:
    """Move the failure action to the rules: those for images have none that means the same."""
    value = str(data[path[-1]])
    if any(one.data.get("verifyImages") for one in policy.rules):
        return ()
    if "validationFailureActionOverrides" in data or value.lower() not in {"audit", "enforce"}:
        return ()
    spelled = {**data, path[-1]: value.capitalize()}
    return _into_validations(policy, spelled, path)


_into_validations = _into_rules(
    "validate", "failureAction", lambda rule: bool(rule.data.get("validate"))
)


def _one_filter(policy: Policy, data: Json, path: Path) -> _Changes:
    """Make a block with criteria of its own one with a single filter under `any`."""
    if data.get("any") or data.get("all") or "any" in data or "all" in data:
        return ()
    return (change(policy.document, Way.ITEM, path[:-1], "any"),)


def _names(policy: Policy, data: Json, path: Path) -> _Changes:
    """Put a list with one name in place of a name."""
    if "names" in data or data.get("name").__class__ is not str:
        return ()
    return (change(policy.document, Way.ENTRY, path, f"names: [{_word(data['name'])}]"),)


def _type(policy: Policy, data: Json, path: Path) -> _Changes:
    """Call the type of an attestation so."""
    return () if "type" in data else (change(policy.document, Way.KEY, path, "type"),)


def _word(value: Json) -> str:
    """Return a scalar as it is written, also within brackets."""
    if value.__class__ is not str:
        return json.dumps(value)
    plain = _PLAIN.fullmatch(value) and value.lower() not in _NO_TEXTS
    return value if plain else json.dumps(value, ensure_ascii=False)


_MOVERS: Mapping[str, _Mover] = MappingProxyType(
    {
        "validationFailureAction": _action,
        "failurePolicy": _into_webhook("failurePolicy"),
        "webhookTimeoutSeconds": _into_webhook("timeoutSeconds"),
        "mutateExistingOnPolicyUpdate": _into_rules(
            "mutate", "mutateExistingOnPolicyUpdate", lambda rule: rule.mutates_existing
        ),
        "generateExisting": _into_rules(
            "generate", "generateExisting", lambda rule: rule.generates
        ),
        "schemaValidation": _left_out,
        **dict.fromkeys(("resources", "subjects", "roles", "clusterRoles"), _one_filter),
        "name": _names,
        "predicateType": _type,
    }
)
_TITLES: Mapping[str, str] = MappingProxyType(
    {
        "schemaValidation": "leave out `schemaValidation`",
        "name": "use `names`",
        "predicateType": "use `type`",
        **dict.fromkeys(("resources", "subjects", "roles", "clusterRoles"), "use `any`"),
    }
)
