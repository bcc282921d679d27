"""The table of diagnostic codes, read out of the package's source.

Every text `KVnnn` is found in the syntax trees, with the message in the same call and what a
docstring says of it.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "kyvsim"
CODE = re.compile(r"KV\d{3}")
HOLE = "…"
GROUPS = (
    ("KV00", "Files and YAML"),
    ("KV01", "Policies: kind and shape"),
    ("KV02", "Resources"),
    ("KV03", "Values, users and context data"),
    ("KV04", "Test manifests"),
    ("KV05", "Scenarios"),
    ("KV06", "Chainsaw tests"),
    ("KV07", "Runs that may be green without a look"),
    ("KV08", "Runs that are spread over processes and machines"),
    ("KV09", "Context files and baselines"),
    ("KV16", "Policies in CEL: names, exceptions, bindings"),
    ("KV1", "What Kyverno refuses in a policy whose shape is right"),
    ("KV2", "What `kyvsim lint` warns of"),
    ("KV", "Others"),
)


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


def first_sentence(docstring):
    """Return what a docstring says first, without the file of the reference that it is from."""
    told = " ".join(docstring.split("\n\n")[0].split())
    return re.split(r"\.? upstream: ", told)[0].rstrip(".")


def about(code, path, tree):
    """Return what a docstring says of a code by name, or else what its check is about."""
    docstrings = [
        " ".join((ast.get_docstring(node) or "").split())
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef)
    ]
    for docstring in docstrings:
        told = re.search(rf"{code}:? ([^,.]*)[,.]", docstring)
        if told:
            return told[1]
    return first_sentence(docstrings[0]) if is_one_matter(path) else ""


def is_one_matter(path):
    """Return whether a file is about one matter, which its docstring names."""
    return path.parent.name in {"checks", "advice"} and path.name != "policy_settings.py"


def around(code, tree):
    """Return what the first function with a code is about, or else its file."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    own = [
        one
        for one in functions
        if any(is_code(node) and node.value == code for node in ast.walk(one))
    ]
    told = [ast.get_docstring(one) for one in own if ast.get_docstring(one)]
    subject = first_sentence((told or [ast.get_docstring(tree) or ""])[0])
    return re.sub(r"^(Return|Yield) (that )?", "", subject)


def codes():
    """Return for each code what it is about, and its messages."""
    found, wheres = {}, {}
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        told = list(calls_of(tree))
        told += [(node.value, []) for node in ast.walk(tree) if is_code(node)]
        for code, messages in told:
            subjects, texts = found.setdefault(code, ([], []))
            subject = about(code, path, tree)
            wheres.setdefault(code, tree)
            subjects += [subject] if subject and subject not in subjects else []
            texts += [text for text in messages if text not in texts]
    for code, (subjects, _) in found.items():
        if not subjects:
            subjects.append(around(code, wheres[code]))
    return dict(sorted(found.items()))


def cell(text):
    return " ".join(re.sub(f"{HOLE}+", HOLE, text).replace("|", "\\|").split())


def quoted(message):
    """Return a message as code in Markdown."""
    fence = "``" if "`" in message else "`"
    gap = " " if "`" in message else ""
    return f"{fence}{gap}{cell(message)}{gap}{fence}"


def row(code, entry):
    subjects, messages = entry
    said = "<br>".join(quoted(text) for text in messages) or "*varies*"
    return f"| {code} | {'; '.join(cell(text) for text in subjects)} | {said} |"


def made():
    """Return the tables of all codes, one for each group, as Markdown."""
    left = codes()
    parts = []
    for prefix, title in GROUPS:
        mine = {code: entry for code, entry in left.items() if code.startswith(prefix)}
        left = {code: entry for code, entry in left.items() if code not in mine}
        if mine:
            rows = "\n".join(row(code, entry) for code, entry in mine.items())
            parts.append(
                f"## {title}\n\n| code | about | messages |\n| --- | --- | --- |\n{rows}\n"
            )
    return "\n".join(parts)
