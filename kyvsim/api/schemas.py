"""The JSON Schemas of all files for Kyverno and kyvsim."""

from collections.abc import Mapping

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json
from kyvsim.load.chainsaw import chainsaw_schemas
from kyvsim.load.scenario import scenario_schemas
from kyvsim.load.structure import json_schema
from kyvsim.load.values import BASELINE_KIND, BASELINE_VERSION, baseline_schema, cli_schemas
from kyvsim.model.diagnostic import likely, listed
from kyvsim.schema.kinds import native_schemas, written_names, written_schema
from kyvsim.schema.node import SchemaNode

_OF_THE_COMMAND_LINE = "cli.kyverno.io/v1alpha1"


class UnknownKindError(Exception):
    """A name matches no kind of file, or several."""


def known_schemas() -> Mapping[str, SchemaNode]:
    """Return the schemas by apiVersion/kind; the usual version of a kind is the last."""
    native = native_schemas()
    return {
        **{name: written_schema(name) for name in written_names()},
        **{name: native[name] for name in sorted(native, reverse=True)},
        **{f"{_OF_THE_COMMAND_LINE}/{kind}": schema for kind, schema in cli_schemas().items()},
        **chainsaw_schemas(),
        **scenario_schemas(),
        f"{BASELINE_VERSION}/{BASELINE_KIND}": baseline_schema(),
    }


def schema_of(name: str) -> Json:
    """Return the JSON Schema of an apiVersion/kind, or of a kind in its usual version.

    Raises UnknownKindError, also if several groups have the kind.
    """
    known = known_schemas()
    if name in known:
        schema = json_schema(known[name], name)
        api_version, _, kind = name.rpartition("/")
        constants = {"apiVersion": {"const": api_version}, "kind": {"const": kind}}
        return {**schema, "properties": {**schema.get("properties", {}), **constants}}
    usual = {
        split_api_version(full_name.rpartition("/")[0])[0]: full_name
        for full_name in known
        if full_name.rpartition("/")[2] == name
    }
    if len(usual) == 1:
        return schema_of(next(iter(usual.values())))
    if usual:
        raise UnknownKindError(f"`{name}` is a kind in several groups: {listed(usual.values())}")
    kinds = {full_name.rpartition("/")[2] for full_name in known}
    raise UnknownKindError(f"unknown kind `{name}`{likely(name, {*known, *kinds})}")
