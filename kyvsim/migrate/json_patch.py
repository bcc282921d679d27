"""Convert JSON patches of mutate rules to JSON patches in CEL."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from kyvsim.jmespath.variables import find_variables
from kyvsim.kubernetes.objects import Json, Path
from kyvsim.migrate.context import NotConvertible, Scope, located
from kyvsim.migrate.expressions import (
    FALSE,
    OR,
    SUM,
    TRUE,
    Quantified,
    Test,
    enclosed,
    every,
    literal,
    one_line,
    opposite,
    quoted,
)
from kyvsim.migrate.queries import text_value
from kyvsim.migrate.values import NUMBER, Expr, shown
from kyvsim.model.migration import ConversionCondition
from kyvsim.patch.keyed_lists import MergeField
from kyvsim.policy.rule import JsonPatch
from kyvsim.policy.tree import PatternLeaf, PatternNode
from kyvsim.yaml.document import YamlError
from kyvsim.yaml.text import load_one

WIDTH: Final = 72
"""The maximum length of a line."""
ORDER: Final = ConversionCondition(
    "order of elements",
    "lists that only partly change keep their order, and new elements are appended",
)
FIRST: Final = ConversionCondition(
    "additions in lists",
    "each element is completed separately; in the rule, the first element decides for all",
)


class Atomic(Exception):  # noqa: N818 — not an error: it selects another form of patch
    """A field is replaced as a whole, or its type is unknown: it cannot be merged."""


class PatchLoop(NamedTuple):
    """A loop whose elements are patched."""

    listed: Expr
    element: Expr
    counter: Expr
    """The index of the element in the list."""
    condition: Test = TRUE
    """The condition for the elements."""
    backwards: bool = False

    @property
    def source(self) -> str:
        """The expression of the list: an error if it is missing, as in the rule."""
        return self.listed.soft or self.listed.tight()

    def goes_over(self, value: Expr) -> bool:
        """Return whether it is a loop over a list that is patched."""
        same = {self.listed.bare_optional, self.listed.text, self.listed.soft} - {""}
        soft = value.or_else([]) if value.may_miss else value.text
        return bool(same & {value.text, value.optional, soft})


def reads(loop: PatchLoop, text: str) -> bool:
    """Return whether an expression reads the element of a loop, or its index."""
    names = rf"({loop.element.text}|{loop.counter.text})"
    return re.search(rf"(?<![\w.']){names}(?![\w'])", text) is not None


class PatchContext(NamedTuple):
    """The shared data of the parts of a patch."""

    scope: Scope
    loops: tuple[PatchLoop, ...] = ()
    """The enclosing loops, the outermost first."""
    merges: tuple[MergeField, ...] = ()
    """How lists of the objects merge, by kind; () if unknown for one of them."""

    @property
    def loop(self) -> PatchLoop | None:
        """The innermost loop."""
        return self.loops[-1] if self.loops else None


class Quoted(NamedTuple):
    """A quoted string with variables: it stays a string."""

    text: str


def value_text(data: object, around: PatchContext) -> str:
    """Return a value of a patch, whose strings can contain variables."""
    if isinstance(data, Quoted):
        value = text_value(data.text, around.scope)
        # JSON in quotes is not parsed: converting maps and lists to strings is an error.
        return shown(value) if value.types else f"string({value.text})"
    if isinstance(data, str):
        return text_value(data, around.scope).text
    if isinstance(data, dict):
        keys = (text_value(key, around.scope).text if "{{" in key else quoted(key) for key in data)
        entries = zip(keys, _same_typed(list(data.values()), around), strict=True)
        return struct("", [f"{key}: {one}" for key, one in entries])
    if isinstance(data, list):
        return list_text(_same_typed(data, around))
    return literal(data)


def _same_typed(values: list[object], around: PatchContext) -> list[str]:
    """Return the members of a map or list, with a common type for the type checker."""
    texts = [value_text(one, around) for one in values]
    shapes = [_shape(one, around) for one in values]
    if set(shapes) == {"str", "text"}:
        pairs = zip(texts, shapes, strict=True)
        return [f"string({text})" if shape == "text" else text for text, shape in pairs]
    return [f"dyn({one})" for one in texts] if len(set(shapes)) > 1 else texts


def _shape(value: object, around: PatchContext) -> str:
    """Return the type of an expression as a key; `text` is a string of unknown type."""
    if isinstance(value, Quoted) or (isinstance(value, str) and "{{" in value):
        found = text_value(value.text if isinstance(value, Quoted) else value, around.scope)
        if found.is_text:
            is_typed = found.level == SUM or found.text.startswith("request.")
            return "str" if is_typed else "text"
        return "str" if isinstance(value, Quoted) else "dyn"
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        inner = {_shape(one, around) for one in parts}
        return f"{type(value).__name__}({inner.pop() if len(inner) == 1 else 'dyn'})"
    return type(value).__name__


def optional_text(data: PatternNode, around: PatchContext) -> str:
    """Return the optional of a value that is omitted if it is missing, "" for others."""
    if not isinstance(data, PatternLeaf) or not isinstance(data.data, str):
        return ""
    found = text_value(data.data, around.scope)
    return found.optional if found.optional and found.text.endswith(".value()") else ""


def unsupported(
    what: str, advice: str = "write this patch by hand", path: Path = ()
) -> NotConvertible:
    """Return the error that a part of a patch cannot be converted."""
    return NotConvertible(f"{what} cannot be converted to a MutatingPolicy", advice, path)


def struct(name: str, fields: list[str], opening: str = "{", closing: str = "}") -> str:
    """Return an object, map or list, on several lines if one would be too long."""
    line = f"{name}{opening}{', '.join(fields)}{closing}"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    inner = ",\n".join(indented(one) for one in fields)
    return f"{name}{opening}\n{inner}\n{closing}"


def call(head: str, argument: str) -> str:
    """Return a call; its last argument is on separate lines if one line would be too long."""
    line = f"{head}, {argument})"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    return f"{head},\n{indented(argument)}\n)"


def list_text(texts: list[str]) -> str:
    """Return a list, on several lines if one would be too long."""
    return struct("", texts, opening="[", closing="]")


def indented(text: str) -> str:
    """Return a text indented by one level."""
    return "\n".join(f"  {line}" for line in text.split("\n"))


# Parse `patchesJson6902` with its variables.
#
# Variables are replaced before the text is parsed: without quotes, a single variable is a value
# of any type; in quotes it is part of a string.

_BARE: Final = ConversionCondition(
    "texts in JSON patches",
    "variables without quotes must not contain text that YAML reads as another type",
)
_MARK: Final = "KYVSIM{}MARK"
_MARKS: Final = re.compile(r"KYVSIM(\d+)MARK")


class PatchOperation(NamedTuple):
    """One operation of a JSON patch, with the variables in its strings."""

    path: Path
    """Its path in the policy: that of the patch, and its index."""
    name: str
    fields: Mapping[str, Json]


def operations_of(patch: JsonPatch | None, scope: Scope) -> list[PatchOperation]:
    """Return the operations of a patch; raises NotConvertible if it is not a list of them."""
    if patch is None:
        raise unsupported("a JSON patch that is not a string")
    variables = find_variables(patch.text)
    marked, quotes = patch.text, []
    for number, one in reversed(list(enumerate(variables))):
        end = one.start + len(one.text)
        quotes.append(marked[one.start - 1 : one.start] + marked[end : end + 1] in {"''", '""'})
        marked = marked[: one.start] + _MARK.format(number) + marked[end:]
    if _MARKS.fullmatch(marked.strip()):
        raise unsupported(
            "a JSON patch that is computed by an expression as a whole", "list its operations"
        )
    if "{{" in marked:
        raise unsupported("a variable inside a variable", "move the inner one to a context entry")
    try:
        found = load_one(marked)
    except YamlError as error:
        raise unsupported(f"a string that cannot be parsed as operations ({error})") from None
    listed = _filled(found, [one.text for one in variables], quotes[::-1], scope)
    if not isinstance(listed, list):
        raise unsupported("a JSON patch that is not a list of operations")
    operations = []
    for index, fields in enumerate(listed):
        name = fields.get("op") if isinstance(fields, dict) else None
        if not isinstance(name, str) or name not in _CONVERTERS:
            raise unsupported(f"the operation `{name}`", "use one of RFC 6902")
        needed = ("from", "path") if name in {"move", "copy"} else ("path",)
        missing = next((field for field in needed if field not in fields), "")
        if missing:
            raise unsupported(f"`{name}` without `{missing}`", f"add `{missing}`")
        operations.append(PatchOperation((*patch.path, index), name, fields))
    return operations


def _filled(value: Json, texts: list[str], quoted: list[bool], scope: Scope) -> Json:
    """Return a parsed value with the variables in place of their markers."""

    def text(marked: str) -> str:
        return _MARKS.sub(lambda found: texts[int(found[1])], marked)

    if isinstance(value, dict):
        return {text(key): _filled(one, texts, quoted, scope) for key, one in value.items()}
    if isinstance(value, list):
        return [_filled(one, texts, quoted, scope) for one in value]
    if not isinstance(value, str):
        return value
    alone = _MARKS.fullmatch(value)
    if alone is None:
        return text(value)
    if quoted[int(alone[1])]:
        return Quoted(texts[int(alone[1])])
    scope.context.note(_BARE)
    return texts[int(alone[1])]


# The targets of JSON patches: the current value, and its JSON pointer as an expression.

Step: TypeAlias = "str | Expr"
"""A key, an index, or an expression for one of them."""

_ESCAPES: Final = str.maketrans({"~": "~0", "/": "~1"})
_INDEX: Final = re.compile(r"0|[1-9][0-9]*")
LAST: Final = "-1"
"""The last existing element of a list."""
END: Final = "-"
"""The index after the last element of a list."""


class PatchTarget(NamedTuple):
    """A place in the patched object."""

    value: Expr
    """The current value."""
    way: tuple[Step, ...] = ()

    @property
    def is_fixed(self) -> bool:
        """Whether it is the same for every element of a loop."""
        return all(isinstance(step, str) for step in self.way)

    @property
    def path(self) -> str:
        """The expression for the JSON pointer."""
        pieces: list[str] = []
        fixed = ""
        for step in self.way:
            if isinstance(step, str):
                fixed += f"/{step.translate(_ESCAPES)}"
            else:
                text = step.tight(SUM) if step.is_text else f"string({step.text})"
                pieces += [quoted(f"{fixed}/"), text]
                fixed = ""
        return " + ".join([*pieces, quoted(fixed)] if fixed or not pieces else pieces)

    @property
    def steps(self) -> tuple[str, ...]:
        """The path as strings, for comparisons."""
        return tuple(step if isinstance(step, str) else f"={step.text}" for step in self.way)

    def below(self, step: Step) -> "PatchTarget":
        """Return the place of a field, a map key, or a list element."""
        return PatchTarget(below(self.value, step), (*self.way, step))

    def element(self, index: Expr, element: Expr) -> "PatchTarget":
        """Return the place of the current element of a loop."""
        return PatchTarget(element, (*self.way, index))


def is_index(step: Step) -> bool:
    """Return whether a step is the index of a list."""
    if isinstance(step, str):
        return step in {LAST, END} or _INDEX.fullmatch(step) is not None
    return step.is_number


def below(value: Expr, step: Step) -> Expr:
    """Return the value at a step below a value."""
    if isinstance(step, str):
        if step == END:
            return Expr(value.text, value.element_types, optional="optional.none()")
        if step == LAST:
            end = f"{value.or_else([]) if value.may_miss else value.tight()}.last()"
            types = value.element_types
            return Expr(f"{end}.value()", types, optional=end, noun=value.noun)
        if not is_index(step):
            return value.child(step)
        if step == "0" and value.noun == "containers" and not value.may_miss:
            return Expr(f"{value.tight()}[0]", value.element_types, noun=value.noun)
    key = step if isinstance(step, str) else step.text
    types = value.element_types if is_index(step) else value.value_types
    start = value.optional or value.tight()
    return Expr(f"{value.tight()}[{key}]", types, optional=f"{start}[?{key}]", noun=value.noun)


def counter(name: str) -> Expr:
    """Return the index of the current element of a loop."""
    return Expr(name, NUMBER, noun="index")


# JSON patches as expressions: single ones, lists, one or more for each element.


class PatchExpression(NamedTuple):
    """One JSON patch, or an expression whose value is a list of them."""

    text: str
    test: Test = TRUE
    """The condition for it."""
    is_list: bool = False
    once: bool = False
    """Whether it is applied once, before the enclosing loops."""


def operation(
    name: str, place: PatchTarget, value: str = "", source: PatchTarget | None = None
) -> str:
    """Return a JSON patch as an expression; `value` and `source` are optional."""
    fields = [f"op: {quoted(name)}"]
    if source is not None:
        fields.append(f"from: {source.path}")
    fields.append(f"path: {place.path}")
    if value:
        fields.append(f"value: {value}")
    return struct("JSONPatch", fields)


def listed(operations: Sequence[PatchExpression]) -> str:
    """Return the expression for a list of JSON patches; adjacent ones share a condition."""
    parts: list[str] = []
    # An expression for a list is not merged with others: its index is part of the key.
    keyed = (((at if one.is_list else -1, one.test), one) for at, one in enumerate(operations))
    for (at, test), some in groupby(keyed, key=lambda pair: pair[0]):
        texts = [one.text for _, one in some]
        text = list_text(texts) if at < 0 else texts[0]
        parts.append(text if test == TRUE else f"({enclosed(test, OR)} ? {text} : [])")
    return " +\n".join(parts) if parts else "[]"


def looped(loop: PatchLoop, operations: Iterable[PatchExpression]) -> list[PatchExpression]:
    """Return the operations of a loop: those applied once, and those for each element."""
    found = list(operations)
    once = [one for one in found if one.once]
    each = [one for one in found if not one.once]
    before = [one._replace(test=every([any_kept(loop), one.test])) for one in once]
    if not each:
        return before
    single = len(each) == 1 and not each[0].is_list
    kept = every([loop.condition, each[0].test]) if single else loop.condition
    body = each[0].text if single else listed(each)
    counted = loop.counter.text in body or loop.counter.text in one_line(kept)
    macro = "transformList" if counted else "map"
    names = [loop.counter.text, loop.element.text] if counted else [loop.element.text]
    conditions = [] if kept == TRUE else [one_line(kept)]
    text = call(f"{loop.source}.{macro}({', '.join([*names, *conditions])}", body)
    text += ".reverse()" if loop.backwards else ""
    text += "" if single else ".flatten()"
    return [*before, PatchExpression(text, is_list=True)]


def any_kept(loop: PatchLoop) -> Test:
    """Return the test that a loop has elements."""
    # The list of containers is never empty.
    if loop.condition == TRUE and loop.listed.noun == "containers" and not loop.listed.fallback:
        return TRUE
    return Quantified(loop.source, loop.element.text, loop.condition, "exists")


# Convert JSON patches of rules to those of a MutatingPolicy, with Kyverno's handling of
# missing fields.
#
# In rules, `add` creates missing parents, `remove` ignores missing fields, and `replace` fails
# for them; in a MutatingPolicy `add` and `remove` fail, and `replace` adds.
#
# upstream: `pkg/engine/mutate/patch/patchJSON6902.go`; gopkg.in/evanphx/json-patch.v4

_TESTS: Final = ConversionCondition(
    "failed tests",
    "if a `test` of the patch fails, the object stays unchanged; the rule fails with an error",
)
_KEYS: Final = ConversionCondition(
    "keys with variables", "variables in a path must not contain a slash or a tilde"
)


class _Patch(NamedTuple):
    root: PatchTarget
    around: PatchContext
    path: Path
    """The path of the current operation in the policy."""
    made: set[tuple[str, ...]]
    """Places that earlier operations have created."""
    gone: set[tuple[str, ...]]
    """Places that earlier operations have removed."""
    shifted: set[tuple[str, ...]]
    """Lists in which earlier operations have shifted elements."""


def json_patch(
    operations: Sequence[PatchOperation], root: Expr, around: PatchContext
) -> list[PatchExpression]:
    """Return the operations of a patch."""
    patch = _Patch(PatchTarget(root), around, (), set(), set(), set())
    found: list[PatchExpression] = []
    for one in operations:
        with located(one.path):
            found += _CONVERTERS[one.name](one, patch._replace(path=one.path))
    return found


def removed_element(
    operations: Sequence[PatchOperation], root: Expr, around: PatchContext
) -> PatchTarget | None:
    """Return the list from which a loop removes its elements; None if it does anything else."""
    loop = around.loop
    if loop is None or [one.name for one in operations] != ["remove"]:
        return None
    with located((*operations[0].path, "path")):
        *before, last = _steps(operations[0].fields["path"], around)
        listed = [PatchTarget(root), *_walk(PatchTarget(root), before, around)][-1]
    mine = last == loop.counter and loop.goes_over(listed.value)
    return listed if mine else None


def _steps(path: object, around: PatchContext) -> list[Step]:
    text = path.text if isinstance(path, Quoted) else path
    if not isinstance(text, str) or not text.startswith("/"):
        raise unsupported(f"the path `{text}`", "name a field of the object")
    # Slashes in variables are not separators.
    parts, rest = [""], text[1:]
    for one in find_variables(f" {rest}"):
        before, _, rest = rest.partition(one.text)
        first, *more = before.split("/")
        parts[-1] += first
        parts += more
        parts[-1] += one.text
    first, *more = rest.split("/")
    steps: list[Step] = []
    for part in (*parts[:-1], parts[-1] + first, *more):
        if "{{" not in part:
            steps.append(part.replace("~1", "/").replace("~0", "~"))
            continue
        value = text_value(part, around.scope)
        if not value.is_number and "'~1'" not in value.text:
            around.scope.context.note(_KEYS)
        steps.append(value)
    return steps


def _walk(place: PatchTarget, steps: Sequence[Step], around: PatchContext) -> list[PatchTarget]:
    """Return the places along a path, including the last one."""
    found: list[PatchTarget] = []
    for step in steps:
        loop = next((one for one in around.loops if one.counter == step), None)
        if loop is not None and loop.goes_over(place.value):
            # A list that a loop iterates over exists.
            found = [one._replace(value=one.value.given()) for one in found]
            place = place.element(loop.counter, loop.element)
        elif step == END and step is not steps[-1]:
            raise unsupported("`-` in the middle of a path", "use -1")
        else:
            place = place.below(step)
        found.append(place)
    return found


def _way(path: object, patch: _Patch) -> list[PatchTarget]:
    with located((*patch.path, "path")):
        return [patch.root, *_walk(patch.root, _steps(path, patch.around), patch.around)]


def _is_there(place: PatchTarget, patch: _Patch) -> Test:
    """Return the test that a place exists when its operation is applied."""
    steps = place.steps
    if steps in patch.made:
        return TRUE
    if any(steps[: len(one)] == one for one in patch.gone):
        return FALSE
    if not place.value.may_miss:
        return TRUE
    if any(steps[: len(one)] == one and steps != one for one in patch.shifted):
        raise unsupported("an element after another one that is added or removed", "use two rules")
    if "'~1'" in place.path and not isinstance(place.way[-1], str):
        raise unsupported("an escaped key", "write the key unescaped", (*patch.path, "path"))
    return place.value.is_there()


def _add(written: PatchOperation, patch: _Patch) -> list[PatchExpression]:
    _, *parents, place = _way(written.fields["path"], patch)
    steps = place.way
    if steps[-1] == LAST:
        place = parents[-1].below(END) if parents else place
    value = _value(written, patch)
    unsure = [(one, _is_there(one, patch)) for one in parents]
    unsure = [(one, test) for one, test in unsure if test != TRUE]
    patch.made.update(one.steps for one in (*(one for one, _ in unsure), place))
    patch.gone.difference_update(patch.made)
    if is_index(steps[-1]) and steps[-1] not in {END, LAST} and parents:
        patch.shifted.add(parents[-1].steps)
    added = operation("add", place, value)
    if len(unsure) == 1 and not (patch.around.loops and unsure[0][0].is_fixed):
        first, there = unsure[0]
        for step in reversed(place.way[len(first.way) :]):
            if _container(step, patch) == "[]":
                value = f"[{value}]"
            else:
                key = quoted(step) if isinstance(step, str) else step.text
                value = f"{{{key}: {value}}}"
        instead = operation("add", first, value)
        choice = f"{enclosed(there, OR)}\n? {added}\n: {instead}"
        return [PatchExpression(instead if there == FALSE else choice)]
    made = []
    for one, there in unsure:
        container = operation("add", one, _container(steps[len(one.way)], patch))
        once = bool(patch.around.loops) and one.is_fixed
        made.append(PatchExpression(container, opposite(there), once=once))
    return [*made, PatchExpression(added)]


def _container(step: Step, patch: _Patch) -> str:
    """Return the empty container for a step."""
    if not is_index(step):
        return "{}"
    if isinstance(step, str) and step in {"0", LAST, END}:
        return "[]"
    path = (*patch.path, "path")
    raise unsupported("a list element that may be missing", "add the list first", path)


def _remove(written: PatchOperation, patch: _Patch) -> list[PatchExpression]:
    place = _way(written.fields["path"], patch)[-1]
    there = _is_there(place, patch)
    _took(place, patch)
    if there == FALSE:
        return []
    once = bool(patch.around.loops) and place.is_fixed
    return [PatchExpression(operation("remove", place), there, once=once)]


def _took(place: PatchTarget, patch: _Patch) -> None:
    patch.made.discard(place.steps)
    if is_index(place.way[-1]):
        patch.shifted.add(place.steps[:-1])
    else:
        patch.gone.add(place.steps)


def _replace(written: PatchOperation, patch: _Patch) -> list[PatchExpression]:
    place = _way(written.fields["path"], patch)[-1]
    value = _value(written, patch)
    if place.steps in patch.made or not place.value.may_miss:
        return [PatchExpression(operation("replace", place, value))]
    # Removing a missing value is an error, like `replace` in a rule.
    return [
        PatchExpression(operation("remove", place)),
        PatchExpression(operation("add", place, value)),
    ]


def _move(written: PatchOperation, patch: _Patch) -> list[PatchExpression]:
    source, place = _way(written.fields["from"], patch)[-1], _way(written.fields["path"], patch)[-1]
    _took(source, patch)
    patch.made.add(place.steps)
    return [PatchExpression(operation("move", place, source=source))]


def _copy(written: PatchOperation, patch: _Patch) -> list[PatchExpression]:
    source, place = _way(written.fields["from"], patch)[-1], _way(written.fields["path"], patch)[-1]
    patch.made.add(place.steps)
    if source.steps in patch.made or not source.value.may_miss:
        return [PatchExpression(operation("copy", place, source=source))]
    # Reading a missing value is an error.
    return [PatchExpression(operation("add", place, source.value.text))]


def _tested(written: PatchOperation, patch: _Patch) -> list[PatchExpression]:
    patch.around.scope.context.note(_TESTS)
    place = _way(written.fields["path"], patch)[-1]
    return [PatchExpression(operation("test", place, _value(written, patch)))]


def _value(written: PatchOperation, patch: _Patch) -> str:
    with located((*patch.path, "value")):
        return value_text(written.fields.get("value"), patch.around)


_Convert: TypeAlias = Callable[[PatchOperation, _Patch], list[PatchExpression]]
_CONVERTERS: Final[Mapping[str, _Convert]] = MappingProxyType(
    {"add": _add, "copy": _copy, "move": _move}
    | {"remove": _remove, "replace": _replace, "test": _tested}
)
