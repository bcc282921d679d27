"""The page of diagnostic codes: what `kyvsim rule` says of them, and their messages.

Messages are read out of the package's source: every text `KVnnn` is found in the syntax trees, with
the message in the same call.
"""

import ast
import re
from collections import defaultdict
from itertools import groupby
from pathlib import Path

from kyvsim.report.diagnostic_codes import every_code, example_blocks, why_lines

PACKAGE = Path(__file__).parents[2] / "kyvsim"
CODE = re.compile(r"KV\d{3}")
HOLE = "…"
VARYING = "*varies*"
"""Stands for messages that are made elsewhere."""


def template(node, known):
    """Yield the texts that an expression may stand for, with … for what only a run knows."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(
            part.value if isinstance(part, ast.Constant) else HOLE for part in node.values
        )
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        for left in template(node.left, known):
            for right in template(node.right, known):
                yield left + right
    elif isinstance(node, ast.IfExp):
        yield from template(node.body, known)
        yield from template(node.orelse, known)
    elif isinstance(node, ast.Name) and node.id in known:
        for value in known[node.id]:
            yield from template(value, {})
    else:
        yield HOLE


def assignments(tree):
    """Return the values that each name of a tree is given."""
    found = defaultdict(list)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found[target.id].append(node.value)
    return found


def between(names, start, end):
    """Return what each name was given last before `end`, or everything since `start`."""
    found = {}
    for name, values in names.items():
        before = sorted((one for one in values if one.lineno <= end), key=lambda one: one.lineno)
        found[name] = [one for one in before if one.lineno > start] or before[-1:]
    return found


def is_code(node):
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and CODE.fullmatch(node.value) is not None
    )


def code_of(call):
    return next((one.value for one in call.args if is_code(one)), None)


def messages_of(call, known):
    """Return what a call with a code says: the texts among its other arguments."""
    found = {
        text
        for argument in call.args
        if not is_code(argument)
        for text in template(argument, known)
        if len(re.findall(r"[A-Za-z]{2,}", text)) > 1
    }
    return sorted(found)


def calls_of(tree):
    """Yield code and messages of each call that carries a code."""
    constants = {
        name: values
        for name, values in assignments(ast.Module(tree.body, [])).items()
        if name.startswith("_") and name.isupper()
    }
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        names = assignments(function)
        start = function.lineno
        calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
        for call in sorted(filter(code_of, calls), key=lambda call: call.lineno):
            known = {**constants, **between(names, start, call.lineno)}
            yield code_of(call), messages_of(call, known)
            start = call.lineno


def messages_by_code():
    """Return the messages of each code that the package's source has."""
    found = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        for code, messages in calls_of(ast.parse(path.read_text(encoding="utf-8"))):
            for text in messages or [VARYING]:
                if text not in found[code]:
                    found[code].append(text)
    return found


def cell(text):
    return " ".join(re.sub(f"{HOLE}+", HOLE, text).replace("|", "\\|").split())


def quoted(message):
    """Return a message as code in Markdown."""
    fence = "``" if "`" in message else "`"
    gap = " " if "`" in message else ""
    return f"{fence}{gap}{cell(message)}{gap}{fence}"


def row(code, messages):
    known = [quoted(text) for text in messages if text != VARYING]
    said = "<br>".join(known + [VARYING] * (VARYING in messages or not known))
    return f"| {code.code} | {cell(code.title)} | {said} |"


def section(code):
    """Return what is written of a code besides its title; its examples can be unfolded."""
    parts = [f"### {code.code}: {code.title}\n", *why_lines(code)]
    examples = "\n".join(example_blocks(code))
    if examples:
        parts += [f'<details markdown="1">\n<summary>Example</summary>\n\n{examples}\n</details>\n']
    return "\n".join(parts)


def made():
    """Return the codes of all groups, with what is written of them, as Markdown."""
    said = messages_by_code()
    parts = []
    for group, codes in groupby(every_code(), lambda one: one.group):
        mine = tuple(codes)
        rows = "\n".join(row(one, said.get(one.code, ())) for one in mine)
        parts.append(f"## {group}\n\n| code | about | messages |\n| --- | --- | --- |\n{rows}\n")
        parts += map(section, filter(lambda one: one.why or one.bad, mine))
    return "\n".join(parts)
