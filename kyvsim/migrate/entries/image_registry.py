"""`imageRegistry`: what a registry says of an image."""

from types import MappingProxyType
from typing import Final

from kyvsim.kube.objects import Json
from kyvsim.migrate.expressions import SUM
from kyvsim.migrate.known_types import TEXT
from kyvsim.migrate.queries.read import query_within
from kyvsim.migrate.queries.scope import Scope
from kyvsim.migrate.queries.texts import text_value
from kyvsim.migrate.values import Value
from kyvsim.model.migration import Condition

_METADATA: Final = Condition("image metadata", "the registry answers both in the same way")


def image_registry(entry: Json, scope: Scope) -> Value:
    """Return the metadata of an image, or what a query finds in them."""
    scope.desk.note(_METADATA)
    reference = text_value(entry["reference"], scope)
    text = f"image.GetMetadata({reference.text})"
    config = Value(f"{text}.config", optional=f"{text}.?config", noun="config")
    # What is called so in CEL has the tag, too.
    resolved = " + ".join(
        (f"{text}.registry", "'/'", f"{text}.repository", "'@'", f"{text}.digest")
    )
    fields = {
        "configData": config,
        "manifestList": Value(
            f"{text}.imageIndex", optional=f"{text}.?imageIndex", noun="manifestList"
        ),
        "resolvedImage": Value(resolved, TEXT, SUM),
    }
    value = Value(text, fields=MappingProxyType(fields))
    query = entry.get("jmesPath")
    return query_within(query, scope, value) if query else value
