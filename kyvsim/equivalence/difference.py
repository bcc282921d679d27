"""What two sets of policies do otherwise in one case."""

import json

from kyvsim.equivalence.side import Effect
from kyvsim.kubernetes.objects import Json
from kyvsim.model.evidence import Difference


def difference(old: Effect, new: Effect) -> Difference | None:
    """Return what differs most between two effects, None where nothing does."""
    if old.denied != new.denied:
        return Difference.DENIAL_LOST if old.denied else Difference.DENIAL_GAINED
    if old.deleted != new.deleted:
        return Difference.DELETION
    if old.blocked != new.blocked:
        return Difference.ENFORCEMENT_LOST if old.blocked else Difference.ENFORCEMENT_GAINED
    if old.blocked:
        return None  # what is denied is not stored; what is only reported is
    if old.object != new.object:
        same = _unordered(old.object) == _unordered(new.object)
        return Difference.ORDER if same else Difference.OBJECT
    if old.generated != new.generated:
        same = _unordered([*old.generated]) == _unordered([*new.generated])
        return Difference.ORDER if same else Difference.GENERATED
    return None if old.later == new.later else Difference.LATER


def _unordered(value: Json) -> Json:
    """Return a value whose lists are in an order of their own."""
    if value.__class__ is dict:
        return {name: _unordered(one) for name, one in value.items()}
    if value.__class__ is list:
        return sorted(map(_unordered, value), key=lambda one: json.dumps(one, sort_keys=True))
    return value
