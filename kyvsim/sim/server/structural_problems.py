"""Where an object of a custom kind does not fit its schema, in the words of an API server.

Source of the rules and texts: k8s.io/kube-openapi pkg/validation (validate, errors), and
k8s.io/apiextensions-apiserver pkg/apiserver/validation.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from kyvsim.kube.duration import parse_duration
from kyvsim.kube.go_layout import TimeError
from kyvsim.kube.go_text import quote, sprint, to_json
from kyvsim.kube.go_time import parse_rfc3339
from kyvsim.kube.objects import Json
from kyvsim.kube.regexes import RegexError, compile_regex
from kyvsim.sim.server.structural import Schema, SchemaRef

_NAMES = MappingProxyType(
    {
        dict: "object",
        list: "array",
        str: "string",
        bool: "boolean",
        int: "integer",
        float: "number",
        type(None): "null",
    }
)
_INT_OR_STRING = "x-kubernetes-int-or-string"


def structural_problems(obj: Json, schema: Schema) -> Iterator[str]:
    """Yield what is wrong with an object, each as `field: what: why`."""
    root = {name: value for name, value in obj.items() if name != "metadata"}
    found = [*_problems(schema, schema.root, root, ""), *_duplicates(schema, schema.root, root, "")]
    yield from dict.fromkeys(found)


def _problems(schema: Schema, ref: SchemaRef, data: Json, path: str) -> Iterator[str]:
    node = schema.resolve(ref)
    fits = _type_problem(node, data)
    if fits:
        yield f'{path}: Invalid value: "{_NAMES[data.__class__]}": {path} in body {fits}'
    if data is not None:
        yield from _combined(schema, node, data, path)
        yield from _scalar_problems(node, data, path)
    if data.__class__ is list:
        yield from _list_problems(schema, node, data, path)
    if "enum" in node and data not in node["enum"]:
        allowed = ", ".join(quote(_text(one)) for one in node["enum"])
        yield f"{path}: Unsupported value: {_shown(data)}: supported values: {allowed}"
    if data.__class__ is dict:
        yield from _mapping_problems(schema, node, data, path)


def _type_problem(node: Mapping[str, Json], data: Json) -> str:
    wanted = ["integer", "string"] if node.get(_INT_OR_STRING) else [str(node.get("type", ""))]
    if wanted == [""] or (data is None and node.get("nullable")):
        return ""
    found = _NAMES[data.__class__]
    whole = data.__class__ is float and data.is_integer() and "integer" in wanted
    if found in wanted or whole or (found == "integer" and "number" in wanted):
        return ""
    return f'must be of type {",".join(wanted)}: "{found}"'


def _combined(schema: Schema, node: Mapping[str, Json], data: Json, path: str) -> Iterator[str]:
    """Yield what `anyOf`, `oneOf`, `allOf` and `not` object to."""
    for name, told in _COMBINATIONS.items():
        tries = [list(_problems(schema, one, data, path)) for one in node.get(name) or ()]
        if tries:
            yield from told(tries, path)
    refused = node.get("not")
    if refused is not None and not any(_problems(schema, refused, data, path)):
        yield _composite(f'"{path}" must not validate the schema (not)')


def _any_of(tries: list[list[str]], path: str) -> Iterator[str]:
    if all(tries):
        yield _composite(f'"{path}" must validate at least one schema (anyOf)')
        yield from tries[0]


def _one_of(tries: list[list[str]], path: str) -> Iterator[str]:
    fitting = sum(not one for one in tries)
    if fitting == 1:
        return
    why = f"Found {fitting} valid alternatives" if fitting else "Found none valid"
    yield _composite(f'"{path}" must validate one and only one schema (oneOf). {why}')
    if not fitting:
        yield from tries[0]


def _all_of(tries: list[list[str]], path: str) -> Iterator[str]:
    for one in tries:
        yield from one
    if any(tries):
        none = ". None validated" if all(tries) else ""
        yield _composite(f'"{path}" must validate all the schemas (allOf){none}')


_COMBINATIONS: Mapping[str, Callable[[list[list[str]], str], Iterator[str]]] = MappingProxyType(
    {"anyOf": _any_of, "oneOf": _one_of, "allOf": _all_of}
)


def _composite(text: str) -> str:
    """Return a remark on a whole, for which the API server names no field."""
    return f'<nil>: Invalid value: "": {text}'


def _scalar_problems(node: Mapping[str, Json], data: Json, path: str) -> Iterator[str]:
    if data.__class__ is str:
        yield from _text_problems(node, data, path)
    elif data.__class__ is int or data.__class__ is float:
        yield from _number_problems(node, data, path)


def _text_problems(node: Mapping[str, Json], data: str, path: str) -> Iterator[str]:
    if len(data) > node.get("maxLength", len(data)):
        yield f"{path}: Too long: may not be more than {node['maxLength']} bytes"
    if len(data) < node.get("minLength", 0):
        yield _invalid(path, data, f"should be at least {node['minLength']} chars long")
    if "pattern" in node and not _searched(node["pattern"], data):
        yield _invalid(path, data, f"should match '{node['pattern']}'")
    form = node.get("format")
    if form is not None and not _has_format(form, data):
        yield _invalid(path, data, f"must be of type {form}: {quote(data)}")


def _number_problems(node: Mapping[str, Json], data: float, path: str) -> Iterator[str]:
    least, most = node.get("minimum"), node.get("maximum")
    if least is not None:
        if node.get("exclusiveMinimum") and data <= least:
            yield _invalid(path, data, f"should be greater than {sprint(least)}")
        elif data < least:
            yield _invalid(path, data, f"should be greater than or equal to {sprint(least)}")
    if most is not None:
        if node.get("exclusiveMaximum") and data >= most:
            yield _invalid(path, data, f"should be less than {sprint(most)}")
        elif data > most:
            yield _invalid(path, data, f"should be less than or equal to {sprint(most)}")


def _list_problems(
    schema: Schema, node: Mapping[str, Json], data: list[Json], path: str
) -> Iterator[str]:
    if "items" in node:
        for index, item in enumerate(data):
            yield from _problems(schema, node["items"], item, f"{path}[{index}]")
    size = len(data)
    if size < node.get("minItems", 0):
        yield _invalid(path, size, f"should have at least {node['minItems']} items")
    if size > node.get("maxItems", size):
        limit = node["maxItems"]
        items = "item" if limit == 1 else "items"
        yield f"{path}: Too many: {size}: must have at most {limit} {items}"


def _mapping_problems(
    schema: Schema, node: Mapping[str, Json], data: Mapping[str, Json], path: str
) -> Iterator[str]:
    if len(data) < node.get("minProperties", 0):
        limit = node["minProperties"]
        yield _invalid(path, len(data), f"should have at least {limit} properties")
    properties = node.get("properties") or {}
    further = node.get("additionalProperties")
    for name in sorted(data):
        if name not in properties and isinstance(further, int | dict) and further is not True:
            yield from _problems(schema, further, data[name], _child(path, name))
    for name in sorted(properties):
        if name in data:
            yield from _problems(schema, properties[name], data[name], _child(path, name))
    for name in node.get("required") or ():
        if name not in data:
            yield f"{_child(path, name)}: Required value"


def _duplicates(schema: Schema, ref: SchemaRef, data: Json, path: str) -> Iterator[str]:
    """Yield the items of lists that repeat an earlier one, where that is not allowed."""
    node = schema.resolve(ref)
    if data.__class__ is dict:
        properties = node.get("properties") or {}
        for name in sorted(data):
            if name in properties:
                yield from _duplicates(schema, properties[name], data[name], _child(path, name))
    elif data.__class__ is list:
        names, sort = node.get("x-kubernetes-list-map-keys"), node.get("x-kubernetes-list-type")
        seen: list[Json] = []
        for index, item in enumerate(data):
            own = item
            if sort == "map" and item.__class__ is dict:
                own = {name: item[name] for name in names or () if name in item}
            if sort in {"map", "set"} and own in seen:
                yield f"{path}[{index}]: Duplicate value: {_shown(own)}"
            seen.append(own)
            if "items" in node:
                yield from _duplicates(schema, node["items"], item, f"{path}[{index}]")


def _child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _invalid(path: str, value: Json, why: str) -> str:
    return f"{path}: Invalid value: {_shown(value)}: {path} in body {why}"


def _shown(value: Json) -> str:
    if value.__class__ is str:
        return quote(value)
    return to_json(value) if value.__class__ in {dict, list} else sprint(value)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else to_json(value)


def _searched(pattern: str, text: str) -> bool:
    try:
        return bool(compile_regex(pattern).search(text))
    except RegexError:
        return True


def _has_format(form: str, text: str) -> bool:
    if form == "date-time":
        try:
            parse_rfc3339(text)
        except TimeError:
            return False
        return True
    # Besides Go's spelling there is a lenient one, in which a number and a letter are enough.
    lenient = any(one.isdigit() for one in text) and any(one.isalpha() for one in text)
    return form != "duration" or lenient or parse_duration(text) is not None
