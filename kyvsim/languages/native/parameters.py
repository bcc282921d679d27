"""The parameters of Kubernetes' admission policies, among the objects given for it.

A selector takes all that fit, as one list; otherwise the first counts that has the name, or where
no name is written, the namespace.

Source of the rules: upstream pkg/admissionpolicy/mutate.go, validate.go (matchesSelector).
"""

from collections.abc import Iterable

from kyvsim.kubernetes.labels import SelectorError, compile_selector
from kyvsim.kubernetes.objects import Json, labels, object_key


def chosen_parameters(reference: Json, given: Iterable[Json]) -> Json:
    """Return the value of `params` that a binding refers to, None where there is nothing."""
    selector = reference.get("selector")
    if selector is None:
        return next((one for one in given if _is_meant(reference, one)), None)
    try:
        fits = compile_selector(selector)
    except SelectorError:
        return None
    items = [one for one in given if fits(labels(one))]
    return {"items": items} if items else None


def _is_meant(reference: Json, obj: Json) -> bool:
    key = object_key(obj)
    if reference.get("name"):
        return bool(key.name == reference["name"])
    return bool(reference.get("namespace")) and key.namespace == reference["namespace"]
