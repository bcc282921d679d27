"""Resource names that nothing knows, in constraints and bindings: nothing runs, and all is green.

A resource is known if its kind is built in or Kyverno's own, if a definition of it is given, or an
object whose kind leads to the name by Kubernetes' guess. What has a wildcard is left alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from kyvsim.engine.compile.compiled import warn
from kyvsim.kubernetes.discovery import crd_kinds, plural
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.idle.kinds import NAME_IT, known_kinds
from kyvsim.model.diagnostic import Diagnostic, Severity, listed, nearest
from kyvsim.model.policy import Binding, Policy
from kyvsim.model.source import Document, Path
from kyvsim.schema.kinds import CEL_GROUP

_NEAR = 0.8
"""How alike two names must be for one to be a slip of the other."""
_FIELDS = ("matchConstraints", "targetMatchConstraints", "matchResources")
"""Where constraints stand in a specification."""
_RULES = ("resourceRules", "excludeResourceRules")


class _Use(NamedTuple):
    """A resource name in a rule."""

    document: Document
    path: Path
    name: str
    groups: tuple[str, ...]


def unknown_resources(
    policies: Iterable[Policy], objects: Iterable[Json], bindings: Iterable[Binding] = ()
) -> Iterator[Diagnostic]:
    """KV163: a resource that is a slip of another, KV164: resources without a definition, once.

    `objects` are all that is given, definitions too.
    """
    uses = [
        use
        for policy in policies
        for field in _FIELDS
        for use in _uses(policy.document, policy.spec.get(field), field)
    ]
    for binding in bindings:
        uses += _uses(binding.document, binding.match, "matchResources")
    if not uses:
        return
    known = _known_resources(objects)
    others: dict[tuple[str, tuple[str, ...]], list[_Use]] = {}
    for use in uses:
        if _is_known(use, known):
            continue
        meant = _meant(use, known)
        if meant:
            text = f"no resource is called `{use.name}` {_place(use.groups)}: {meant}"
            yield warn(use.document, "KV163", text, use.path)
        else:
            others.setdefault((use.name, use.groups), []).append(use)
    if others:
        first = next(iter(others.values()))[0]
        # Custom resources are usual, so this alone is no reason to fail a strict run.
        place = first.document.locate(first.path)
        yield Diagnostic("KV164", Severity.INFO, _none_known(list(others)), place)


def _none_known(names: list[tuple[str, tuple[str, ...]]]) -> str:
    """Return that resources, custom ones probably, are neither defined nor given."""
    if len(names) == 1:
        ((name, groups),) = names
        return (
            f"resource `{name}` {_place(groups)} is not built in, and neither its definition nor an"
            f" object with this plural is given: {NAME_IT}"
        )
    shown = listed(f"{name}.{groups[0]}" if len(groups) == 1 else name for name, groups in names)
    return (
        f"{len(names)} resources are not built in, and neither their definitions nor objects with"
        f" these plurals are given: {shown}: name the files of their CustomResourceDefinitions with"
        " --crd-path"
    )


def _uses(document: Document, constraints: Json, field: str) -> Iterator[_Use]:
    """Yield the resource names in constraints that stand in a field of a specification."""
    if constraints.__class__ is not dict:
        return
    rules = [
        (("spec", field, kind, number), rule)
        for kind in _RULES
        for number, rule in enumerate(constraints.get(kind) or ())
    ]
    for path, rule in rules:
        groups = tuple(rule.get("apiGroups") or ())
        for index, text in enumerate(rule.get("resources") or ()):
            name = text.partition("/")[0]
            if name != "*" and groups:
                yield _Use(document, (*path, "resources", index), name, groups)


def _known_resources(objects: Iterable[Json]) -> Mapping[tuple[str, str], str]:
    """Return the kind of every known resource by group and name."""
    given = tuple(objects)
    table = crd_kinds(given)
    return {(group, plural(group, kind, table)): kind for group, kind in known_kinds(given)}


def _is_known(use: _Use, known: Mapping[tuple[str, str], str]) -> bool:
    if CEL_GROUP in use.groups or any((group, use.name) in known for group in use.groups):
        return True
    return "*" in use.groups and any(name == use.name for _, name in known)


def _meant(use: _Use, known: Mapping[tuple[str, str], str]) -> str:
    """Return what to say of the resource that was meant, or ""."""
    groups = {group for group, _ in known}
    if not any(group in groups or group == "*" for group in use.groups):
        return ""  # somebody else's groups, whatever their resources are called
    own = {key: kind for key, kind in known.items() if "*" in use.groups or key[0] in use.groups}
    spelled = {kind.lower(): name for (_, name), kind in sorted(own.items(), reverse=True)}
    spelled |= {name: name for _, name in own}
    meant = spelled.get(use.name.lower())
    elsewhere = sorted(group for group, name in known if name == use.name)
    if not meant and elsewhere:
        return f"it is a resource {_place(elsewhere[:1])}"
    if not meant:
        meant = spelled.get(nearest(use.name, spelled, _NEAR))
    return f"did you mean `{meant}`?" if meant else ""


def _place(groups: Sequence[str]) -> str:
    """Return in which groups a resource is, or was looked for."""
    if "*" in groups:
        return "in any apiGroup"
    if list(groups) == [""]:
        return 'in the core apiGroup (`""`)'
    shown = ", ".join(f"`{group}`" if group else 'core (`""`)' for group in groups)
    return f"in apiGroup {shown}" if len(groups) == 1 else f"in apiGroups {shown}"
