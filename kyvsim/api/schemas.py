"""The JSON Schemas of all files that users write for Kyverno and for kyvsim."""

from collections.abc import Mapping

from kyvsim.kubernetes.discovery import split_api_version
from kyvsim.kubernetes.objects import Json
from kyvsim.load.baseline import KIND, VERSION, baseline_schema
from kyvsim.load.chainsaw import chainsaw_schemas
from kyvsim.load.scenario import scenario_schemas
from kyvsim.load.structure import json_schema
from kyvsim.load.values import cli_schemas
from kyvsim.model.diagnostic import likely, listed
from kyvsim.schema.kinds import native_schemas, written_names, written_schema
from kyvsim.schema.node import SchemaNode

_OF_THE_COMMAND_LINE = "cli.kyverno.io/v1alpha1"


class UnknownKindError(Exception):
    """A name does not say which kind of file is meant; the text says why."""


def known_schemas() -> Mapping[str, SchemaNode]:
    """Return the schemas of files by apiVersion/kind; of one kind the usual version comes last."""
    native = native_schemas()
    return {
        **{name: written_schema(name) for name in written_names()},
        **{name: native[name] for name in sorted(native, reverse=True)},
        **{f"{_OF_THE_COMMAND_LINE}/{kind}": one for kind, one in cli_schemas().items()},
        **chainsaw_schemas(),
        **scenario_schemas(),
        f"{VERSION}/{KIND}": baseline_schema(),
    }


def schema_of(name: str) -> Json:
    """Return the JSON Schema of files of an apiVersion/kind, or of a kind in its usual version.

    Raises UnknownKindError, also for a kind that several groups have.
    """
    known = known_schemas()
    if name in known:
        schema = json_schema(known[name], name)
        api_version, _, kind = name.rpartition("/")
        said = {"apiVersion": {"const": api_version}, "kind": {"const": kind}}
        return {**schema, "properties": {**schema.get("properties", {}), **said}}
    usual = {
        split_api_version(one.rpartition("/")[0])[0]: one
        for one in known
        if one.rpartition("/")[2] == name
    }
    if len(usual) == 1:
        return schema_of(next(iter(usual.values())))
    if usual:
        raise UnknownKindError(f"`{name}` is a kind in several groups: {listed(usual.values())}")
    kinds = {one.rpartition("/")[2] for one in known}
    raise UnknownKindError(f"unknown kind `{name}`{likely(name, {*known, *kinds})}")
