"""The index of diagnostic codes, and the page of each: what `kyvsim rule` shows, and its messages.

Messages are read out of the package's source: every text `KVnnn` is found in the syntax trees, with
the messages beside it in a call, or in a row of a table, where a function may return them.
"""

import ast
import re
from collections import defaultdict
from itertools import groupby
from pathlib import Path

from kyvsim.linting.registry import CHECKS
from kyvsim.report.diagnostic_codes import FIX, every_code, example_blocks, why_lines

PACKAGE = Path(__file__).parents[2] / "kyvsim"
CODE = re.compile(r"KV\d{3}")
HOLE = "…"
VARYING = "*varies*"
"""In place of messages that are composed elsewhere."""


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
    elif isinstance(node, ast.Lambda):
        yield from template(node.body, known)
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


def code_of(nodes):
    return next((one.value for one in nodes if is_code(one)), None)


def messages_of(nodes, known):
    """Return the texts beside a code in a call or tuple."""
    found = {
        text
        for node in nodes
        if not is_code(node)
        for text in template(node, known)
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
        calls = [
            node for node in ast.walk(function) if isinstance(node, ast.Call) and code_of(node.args)
        ]
        for call in sorted(calls, key=lambda call: call.lineno):
            known = {**constants, **between(names, start, call.lineno)}
            yield code_of(call.args), messages_of(call.args, known)
            start = call.lineno


def rows_of(tree):
    """Yield code and messages of each tuple that holds both."""
    returned = {
        function.name: [
            node.value for node in ast.walk(function) if isinstance(node, ast.Return) and node.value
        ]
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and code_of(node.elts):
            messages = messages_of(node.elts, returned)
            if messages:
                yield code_of(node.elts), messages


def messages_by_code():
    """Return the messages of each code that the package's source has."""
    found = defaultdict(list)
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for code, messages in (*calls_of(tree), *rows_of(tree)):
            for text in messages or [VARYING]:
                if text not in found[code]:
                    found[code].append(text)
    return found


def quoted(message):
    """Return a message as code in Markdown."""
    text = " ".join(re.sub(f"{HOLE}+", HOLE, message).split())
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def message_lines(messages):
    """Yield the messages of a code as a list."""
    known = [quoted(text) for text in messages if text != VARYING]
    if known:
        yield f"`{HOLE}` is replaced with text from the input.\n"
        yield "\n".join(f"- {text}" for text in known) + "\n"
    if VARYING in messages or not known:
        yield f"{'Other messages' if known else 'Messages'} are composed at run time.\n"


def page(code, messages, checked):
    """Return the page of a code, with what `kyvsim rule` shows and its messages.

    `checked` is what the record of a lint check says of the code, None if it is of no check.
    """
    examples = tuple(example_blocks(code))
    severity = " or ".join(checked.severities) if checked else code.shown_severity
    fix = f" Fix: {FIX}." if code.fixable else ""
    parts = (
        f"# {code.code}: {code.title}\n",
        f"Severity: {severity}. Group: [{code.group}](../diagnostics.md).{fix}\n",
        *why_lines(code),
        *(("## Example\n",) if examples else ()),
        *((f"Reported for {quoted(checked.example)}.\n",) if checked else ()),
        *examples,
        "## Messages\n",
        *message_lines(messages),
        "<!-- generated by tests/reference_pages/diagnostics.py from kyvsim/report/codes/ -->\n",
    )
    return "\n".join(parts)


def pages():
    """Return the page of each code by its path in the repository."""
    found = messages_by_code()
    checked = {code.code: code for check in CHECKS for code in check.codes}
    return {
        one.page: page(one, found.get(one.code, ()), checked.get(one.code)) for one in every_code()
    }


def row(code):
    link = f"[{code.code}]({code.page.removeprefix('docs/')})"
    fix = "yes" if code.fixable else "no"
    return f"| {link} | {code.shown_severity} | {fix} | {code.title} |\n"


def made():
    """Return a table for each group of codes, as Markdown."""
    parts = []
    for group, codes in groupby(every_code(), lambda one: one.group):
        rows = "".join(map(row, codes))
        parts.append(
            f"## {group}\n\n| code | severity | fix | about |\n| --- | --- | --- | --- |\n{rows}"
        )
    return "\n".join(parts)
