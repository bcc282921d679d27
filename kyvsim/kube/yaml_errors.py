"""What is wrong with a YAML text, and where."""

from kyvsim.kube.depth import TOO_DEEP
from kyvsim.light.typed import TYPE_CHECKING

if TYPE_CHECKING:
    import yaml

_TOO_DEEP_FOR_LIBYAML = "exceeded maximum nesting depth"
"""What libyaml says, from the release in PyYAML 6.0.4 on, of lists in lists beyond a thousand: it
may look ahead so far before it gives the first of them. Our own bound is lower."""


class YamlError(ValueError):
    """A text that is no YAML as Kubernetes reads it; line and column count from 1."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column


def from_parser_error(error: "yaml.YAMLError", text: str | bytes) -> YamlError:
    """Return the error that libyaml raised for `text` as a YamlError."""
    import yaml  # noqa: PLC0415 — slow; whoever raised the error has it

    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        message = error.problem or error.context or "malformed YAML"
        if message == _TOO_DEEP_FOR_LIBYAML:
            message = TOO_DEEP
        return YamlError(message, mark.line + 1, mark.column + 1) if mark else YamlError(message)
    if isinstance(error, yaml.reader.ReaderError):
        data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        before = data[: error.position]
        line_start = before.rfind(b"\n") + 1
        column = len(before[line_start:].decode("utf-8", "replace")) + 1
        return YamlError(str(error.reason), before.count(b"\n") + 1, column)
    return YamlError(str(error))
