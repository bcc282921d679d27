"""Volumes of the kinds that a restricted Pod may have."""

from kyvsim.languages.classic.pod_security.volumes import ALLOWED, OTHERS
from kyvsim.migrate.expressions import Each, Relation, Test, some
from kyvsim.migrate.known_types import element_of
from kyvsim.migrate.pod_security.pod import Pod, each, nothing
from kyvsim.migrate.values import Value


def restricted(pod: Pod) -> Test:
    """No volumes of other kinds, nor of no kind."""
    listed = pod.spec.child("volumes")
    volume = Value("volume", element_of(listed.types))
    kinds = pod.words("volumeTypes", ALLOWED)
    allowed = Each(kinds, "kind", Relation("kind", "in", volume.text), "exists")
    test = pod.unless_excused(allowed, "", nothing)
    excused = (
        volume.child(kind).is_there()
        for kind in OTHERS
        if any(one.field == f"spec.volumes[*].{kind}" for one in pod.own)
    )
    return each(listed.or_else([]), volume.text, some([test, *excused]))
