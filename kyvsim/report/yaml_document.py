"""The run as one YAML document: what the JSON format has, the results first."""

import json
from collections.abc import Iterator

from kyvsim.model.result import EngineResponse
from kyvsim.report import json_document
from kyvsim.report.object_text import to_yaml
from kyvsim.report.run import Lists, Run, Writing
from kyvsim.report.style import Look


def begin(run: Run, look: Look) -> Writing:
    """Begin the document: its `results`, then all else in the order of the alphabet."""
    document = json_document.begin(run, look)

    def row(response: EngineResponse) -> str:
        text = document.row(response)[document.skipped :]
        return to_yaml(json.loads(f"[{text}]")) if text else ""

    def tail(lists: Lists) -> Iterator[str]:
        rest = json.loads('{"results": [' + "".join(document.tail(lists)))
        del rest["results"]
        yield "" if any(run.course.summary()) else "results: []\n"
        yield to_yaml(rest)

    return Writing(head=lambda: (), row=row, tail=tail, lists=document.lists, lead="results:\n")
