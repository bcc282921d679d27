"""Entries whose source is outside: without a cluster or a registry they stay undefined.

Values given for their names stand in for them; an expression that asks for one without a value
ends in an error that names it.
"""

from kyvsim.context.json_context import SKIPPED, EntryLoader
from kyvsim.context.loaders.protocol import ContextLoader
from kyvsim.expr import Environment
from kyvsim.kube.objects import Json


def _compile(_name: str, _spec: Json, _environment: Environment) -> EntryLoader:
    return lambda _: SKIPPED


API_CALL = ContextLoader("apiCall", _compile)
GLOBAL_REFERENCE = ContextLoader("globalReference", _compile)
IMAGE_REGISTRY = ContextLoader("imageRegistry", _compile)
