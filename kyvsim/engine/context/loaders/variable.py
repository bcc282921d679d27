"""`variable` entries: a value, a query, or a query on a value, with a default.

Source of the rules: upstream pkg/engine/context/loaders/variable.go.
"""

from collections.abc import Callable

from kyvsim.engine.context.json_context import EntryLoader, JSONContext
from kyvsim.jmespath import (
    Query,
    QueryError,
    QuerySyntaxError,
    System,
    compile_query,
    compile_template,
)
from kyvsim.kubernetes.go_text import sprint_text
from kyvsim.kubernetes.quantities import with_floats
from kyvsim.policy.tree import VariableEntry


def compile_entry(entry: VariableEntry, system: System) -> EntryLoader:
    """Return the loader of a variable."""
    name, has_value = entry.name, entry.value is not None
    path_of = _compile_path(name, entry.jmes_path, system)
    value_of = _compile_part(name, entry.value, system)
    default_of = _compile_part(name, entry.default, system)

    def load(scope: JSONContext) -> object:
        query, default = path_of(scope), default_of(scope)
        value = value_of(scope)
        if query is not None:
            found = _apply(query, value if has_value else scope, default)
            # A query on a value may return null; null from the context is replaced by the default.
            value = found if has_value or found is not None else default
        elif not has_value:
            value = default
        if value is None:
            raise QueryError(
                f"failed to add context entry for variable {name} since it evaluated to nil"
            )
        return with_floats(value)

    return load


def _apply(query: Query, subject: object, default: object) -> object:
    try:
        root = subject.root(query.names) if isinstance(subject, JSONContext) else subject
        return query.evaluate(root)
    except QueryError as error:
        if default is not None:
            return default
        on_context = isinstance(subject, JSONContext)
        cause = f"JMESPath query failed: {error.message}" if on_context else error.message
        # upstream prints the result of the failed query instead of its input
        raise QueryError(
            f"failed to apply jmespath {query.text} to variable <nil>: {cause}"
        ) from error


def _compile_path(name: str, path: str, system: System) -> Callable[[JSONContext], Query | None]:
    if not path:
        return lambda _: None
    template = compile_template(path, system)
    if template.constant:
        query = compile_query(template.value.strip(), system)
        return lambda _: query

    def of(scope: JSONContext) -> Query:
        text = _render(name, path, lambda: template.render(scope))
        if text.__class__ is not str:
            raise QueryError(f"jmespath value must be a string {name} {path}: <nil>")
        try:
            return compile_query(text.strip(), system)
        except QuerySyntaxError as error:
            raise QueryError(f"failed to compile JMESPath: {text}, error: {error}") from error

    return of


def _compile_part(name: str, part: object, system: System) -> Callable[[JSONContext], object]:
    template = compile_template(with_floats(part), system)
    if template.constant:
        constant = template.value
        return lambda _: constant
    return lambda scope: _render(name, part, lambda: template.render(scope))


def _render(name: str, text: object, render: Callable[[], object]) -> object:
    try:
        return render()
    except QueryError as error:
        # upstream prints values that are not strings with `%s`, which shows their Go types.
        where = f"context entry {name} {sprint_text(with_floats(text))}"
        raise QueryError(f"failed to substitute variables in {where}: {error.message}") from error
