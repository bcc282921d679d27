"""The text of `patchesJson6902` with its variables → operations as data.

Variables are filled into the text before it is read: one that stands alone and without quotes is a
value of any type, within quotes it is part of a text.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kyvsim.expr.variables import find_variables
from kyvsim.kube.objects import Json
from kyvsim.kube.yaml_text import YamlError, load_one
from kyvsim.migrate.patches.draft import Quoted, no_twin
from kyvsim.migrate.queries.scope import Scope
from kyvsim.model.migration import Condition

_BARE: Final = Condition(
    "texts in JSON patches",
    "a variable without quotes is never a text that YAML would read as something else",
)
_MARK: Final = "KYVSIM{}MARK"
_MARKS: Final = re.compile(r"KYVSIM(\d+)MARK")
_NEEDED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "add": ("path",),
        "replace": ("path",),
        "remove": ("path",),
        "test": ("path",),
        "move": ("from", "path"),
        "copy": ("from", "path"),
    }
)
"""What an operation must have; a value that it lacks is null."""


def operations_of(text: Json, scope: Scope) -> list[Mapping[str, Json]]:
    """Return the operations that a patch lists; raises NotConvertible for what is no such list.

    Texts in them keep their variables.
    """
    if not isinstance(text, str):
        raise no_twin("a JSON patch that is no text")
    variables = find_variables(text)
    marked, quotes = text, []
    for number, one in reversed(list(enumerate(variables))):
        end = one.start + len(one.text)
        quotes.append(marked[one.start - 1 : one.start] + marked[end : end + 1] in {"''", '""'})
        marked = marked[: one.start] + _MARK.format(number) + marked[end:]
    if _MARKS.fullmatch(marked.strip()):
        raise no_twin("a JSON patch that an expression makes as a whole", "list its operations")
    if "{{" in marked:
        raise no_twin("a variable inside of a variable", "give the inner one a context entry")
    try:
        found = load_one(marked)
    except YamlError as error:
        raise no_twin(f"a text that cannot be read as operations ({error})") from None
    texts = [one.text for one in variables]
    operations = _filled(found, texts, quotes[::-1], scope)
    if not isinstance(operations, list):
        raise no_twin("a JSON patch that is no list of operations")
    for one in operations:
        _check(one)
    return operations


def _check(operation: Json) -> None:
    name = operation.get("op") if isinstance(operation, dict) else None
    if not isinstance(name, str) or name not in _NEEDED:
        raise no_twin(f"the operation `{name}`", "use one of RFC 6902")
    missing = next((one for one in _NEEDED[name] if one not in operation), "")
    if missing:
        raise no_twin(f"`{name}` without `{missing}`", "say where it is made")


def _filled(value: Json, texts: list[str], quoted: list[bool], scope: Scope) -> Json:
    """Return what was read with the variables where they stood."""
    if isinstance(value, dict):
        return {_text(key, texts): _filled(one, texts, quoted, scope) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, texts, quoted, scope) for one in value]
    if not isinstance(value, str):
        return value
    alone = _MARKS.fullmatch(value)
    if alone is None:
        return _text(value, texts)
    if quoted[int(alone[1])]:
        return Quoted(texts[int(alone[1])])
    scope.desk.note(_BARE)
    return texts[int(alone[1])]


def _text(value: str, texts: list[str]) -> str:
    return _MARKS.sub(lambda found: texts[int(found[1])], value)
