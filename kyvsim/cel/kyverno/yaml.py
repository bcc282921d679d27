"""YAML texts as values.

Source of the rules: upstream kyverno/sdk extensions/cel/libs/yaml: YAML 1.1 by way of JSON, so
every number is a double; an empty text is null.
"""

from typing import Any, NamedTuple

from kyvsim.cel.environment import Library, function, way
from kyvsim.cel.errors import CelError
from kyvsim.cel.types import CelType, opaque
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.text import load_one

_TYPE = opaque("yaml.Yaml")


class YamlCodec(NamedTuple):
    """The value of the variable `yaml`."""

    @property
    def cel_type(self) -> CelType:
        """Its type in expressions."""
        return _TYPE


def _parse(_: YamlCodec, text: str) -> Any:
    try:
        return load_one(text, floats=True)
    except YamlError as error:
        raise CelError(f"error converting YAML to JSON: {error.go_text}") from None


YAML = Library(
    "yaml",
    (function("parse", way(f"{_TYPE.name}.(string) -> dyn", _parse)),),
    types=((YamlCodec, _TYPE),),
    variables=(("yaml", _TYPE),),
)
