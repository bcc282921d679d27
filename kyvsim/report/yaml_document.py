"""The run as one YAML document: that of the JSON format."""

import json
from collections.abc import Iterator

from kyvsim.report import json_document
from kyvsim.report.object_yaml import to_yaml
from kyvsim.report.run import Run
from kyvsim.report.summary import Tally


def render(run: Run, tally: Tally) -> Iterator[str]:
    """Yield the document as a whole, counting every result in `tally`."""
    yield to_yaml(json.loads("".join(json_document.render(run, tally))))
