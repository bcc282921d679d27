"""The mutants of a module: its tree with one small thing changed, as a slip of the hand would.

What no test could tell is left alone: annotations, docstrings, imports, decorators, `__all__`.
"""

import ast
from collections.abc import Callable, Iterator
from typing import NamedTuple

OPPOSITES = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
}
NOT_RUN = {"annotation", "returns", "decorator_list", "type_params", "format_spec"}


class Mutant(NamedTuple):
    """A change of a module: its number, the line (from 1) and column (from 0), and what it is."""

    number: int
    line: int
    column: int
    change: str


class _Change(NamedTuple):
    node: ast.AST
    change: str
    new: ast.AST
    put: Callable[[ast.AST], None]
    """Puts a node where `node` stands."""


def mutants(source: str) -> list[Mutant]:
    """Return the mutants of a module's text, in the order of its tree."""
    return [
        Mutant(number, one.node.lineno, one.node.col_offset, one.change)
        for number, one in enumerate(_changes(ast.parse(source)))
    ]


def mutated(source: str, number: int) -> ast.Module:
    """Return the tree of a module's text with the change of a number made in it."""
    tree = ast.parse(source)
    one = list(_changes(tree))[number]
    one.put(ast.copy_location(one.new, one.node))
    return ast.fix_missing_locations(tree)


def _changes(parent: ast.AST) -> Iterator[_Change]:
    """Yield the changes below a node, each before those within it."""
    for name, value in ast.iter_fields(parent):
        if name in NOT_RUN:
            continue
        for place, node in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(node, ast.AST) or _is_silent(node):
                continue
            put = _puts(parent, name, place if isinstance(value, list) else None)
            asked = name in {"test", "ifs"}
            for change, new in (*_of(node), *(_turned(node) if asked else ())):
                yield _Change(node, change, new, put)
            yield from _changes(node)


def _puts(parent: ast.AST, name: str, place: int | None) -> Callable[[ast.AST], None]:
    def put(new: ast.AST) -> None:
        if place is None:
            setattr(parent, name, new)
        else:
            getattr(parent, name)[place] = new

    return put


def _is_silent(node: ast.AST) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.expr_context():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.Call(func=ast.Name(id="cast" | "TypeVar")):
            return True
    return False


def _turned(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield a condition turned round, unless its own operator is changed already."""
    match node:
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()) | ast.Constant():
            return
    yield "condition turned round", ast.UnaryOp(ast.Not(), node)


def _of(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what can be put in the place of a node, each with its words."""
    match node:
        case ast.Compare(left=left, ops=[operator], comparators=comparators):
            yield _opposite(operator, lambda new: ast.Compare(left, [new], comparators))
        case ast.BoolOp(op=operator, values=values):
            yield _opposite(operator, lambda new: ast.BoolOp(new, values))
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in OPPOSITES:
            yield _opposite(operator, lambda new: ast.BinOp(left, new, right))
        case ast.UnaryOp(op=ast.Not() | ast.USub() as operator, operand=operand):
            yield f"{type(operator).__name__} dropped", operand
        case ast.Constant(value=value):
            yield from _constants(value)
        case ast.Return(value=ast.AST() as value) if not isinstance(value, ast.Constant):
            yield "returns None", ast.Return(ast.Constant(None))
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.AugAssign():
            yield "statement dropped", ast.Pass()
        case ast.Break():
            yield "break to continue", ast.Continue()
        case ast.Continue():
            yield "continue to break", ast.Break()


def _opposite(operator: ast.AST, build: Callable[[ast.AST], ast.AST]) -> tuple[str, ast.AST]:
    new = OPPOSITES[type(operator)]()
    return f"{type(operator).__name__} to {type(new).__name__}", build(new)


def _constants(value: object) -> Iterator[tuple[str, ast.AST]]:
    match value:
        case bool():
            yield f"{value} to {not value}", ast.Constant(not value)
        case int() | float():
            yield f"{value} to {value + 1}", ast.Constant(value + 1)
        case str():
            yield f"{value!r} with more", ast.Constant(f"{value}~")
