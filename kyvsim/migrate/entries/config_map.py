"""`configMap`: data of a ConfigMap of the cluster."""

from typing import Final

from kyvsim.kube.objects import Json
from kyvsim.migrate.entries.places import within_place
from kyvsim.migrate.known_types import types_of
from kyvsim.migrate.queries.scope import Scope
from kyvsim.migrate.queries.texts import text_value
from kyvsim.migrate.refusal import within
from kyvsim.migrate.values import Value
from kyvsim.model.migration import Condition

LOOK_UP: Final = Condition(
    "cluster look-up",
    "Kyverno may read the objects, and they are what the ClusterPolicy would read",
)


def config_map(entry: Json, scope: Scope) -> Value:
    """Return the ConfigMap."""
    scope.desk.note(LOOK_UP)
    name = text_value(entry["name"], scope)
    place = within(("namespace",), within_place, entry.get("namespace") or "default", scope)
    asked = ", ".join(["'v1'", "'configmaps'", *place, name.text])
    text = f"dyn(resource.Get({asked}))"
    return Value(text, types_of([("v1", "ConfigMap")]), noun="configMap", is_looked_up=True)
