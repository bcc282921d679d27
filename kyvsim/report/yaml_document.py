"""The run as one YAML document: that of the JSON format."""

import json
from collections.abc import Iterator

from kyvsim.report import json_document
from kyvsim.report.object_yaml import to_yaml
from kyvsim.report.run import Run


def render(run: Run) -> Iterator[str]:
    """Yield the document as a whole."""
    yield to_yaml(json.loads("".join(json_document.render(run))))
