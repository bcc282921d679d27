"""The run as JUnit XML, and the escaping that JUnit reports of other commands use."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from kyvsim.model.diagnostic import Severity
from kyvsim.model.result import EngineResponse
from kyvsim.report.finding import Finding, compile_findings
from kyvsim.report.results import title
from kyvsim.report.run import Lists, Run, StreamingDocument
from kyvsim.report.style import RenderOptions, safe_text

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_IN_ATTRIBUTE = str.maketrans({"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def attributes(values: Mapping[str, str]) -> str:
    """Return attributes as they are in a tag, each with a blank before it."""
    pairs = ((name, escaped(text).translate(_IN_ATTRIBUTE)) for name, text in values.items())
    return "".join(f' {name}="{text}"' for name, text in pairs)


def escaped(text: str) -> str:
    """Return text as it is in XML, safe to show in a log.

    Characters that XML 1.0 does not have are shown as escapes, or become U+FFFD.
    """
    return _NOT_IN_XML.sub("\ufffd", safe_text(text)).translate(_MARKUP)


# The run as JUnit XML: a suite for each object, a case for each rule that looked at it.


def begin(run: Run, options: RenderOptions) -> StreamingDocument:
    """Begin the document a suite at a time; what could not be used is an error of its own suite.

    A warning is a case that passed and says so. Characters that XML 1.0 does not have, and those
    that move or reorder what a terminal shows, are written as visible escapes.
    """
    rows_of = compile_findings(run, options._replace(detailed=True))

    def row(response: EngineResponse) -> str:
        cases = [_case(one) for one in rows_of(response)]
        return "".join(_suite(title(response.trigger), cases)) if cases else ""

    def tail(_: Lists) -> Iterator[str]:
        case = attributes({"name": "inputs", "classname": "kyvsim"})
        cases = []
        for one in run.all_diagnostics():
            if one.severity is Severity.ERROR:
                error = attributes({"message": safe_text(str(one)), "type": "input"})
                text = f"    <testcase{case}>\n      <error{error}/>\n    </testcase>\n"
                cases.append(("error", text))
        if cases:
            yield from _suite("inputs", cases)
        yield "</testsuites>\n"

    opening = '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="kyvsim apply">\n'
    return StreamingDocument(head=lambda: (opening,), row=row, tail=tail)


def _suite(name: str, cases: list[tuple[str, str]]) -> Iterator[str]:
    counts = Counter(status for status, _ in cases)
    about = {"name": name, "tests": str(len(cases))}
    for word, status in (("failures", "fail"), ("errors", "error"), ("skipped", "skip")):
        about[word] = str(counts[status])
    yield f"  <testsuite{attributes(about)}>\n"
    yield from (text for _, text in cases)
    yield "  </testsuite>\n"


def _case(one: Finding) -> tuple[str, str]:
    """Return the status of a case, and its element: one that is known has passed, and says so."""
    outcome = "pass" if one.is_known else one.result
    said = one.shown_text
    if outcome in {"fail", "error"}:
        element = "failure" if outcome == "fail" else "error"
        about = attributes({"message": said, "type": one.result})
        text = escaped(f"{said}\nat {one.place}\nrule: {one.rule_location}")
        content = f"<{element}{about}>{text}</{element}>"
    elif outcome == "skip":
        content = f"<skipped{attributes({'message': said})}/>"
    elif one.result == "pass" and not one.note:
        content = ""
    else:
        content = f"<system-out>{escaped(f'{one.result}: {said}')}</system-out>"
    name = attributes({"name": one.rule or one.definition.name, "classname": one.policy})
    inner = f">\n      {content}\n    </testcase>" if content else "/>"
    return outcome, f"    <testcase{name}{inner}\n"
