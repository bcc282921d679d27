"""What is wrong with a YAML text, and where."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kyvsim.kube.depth import TOO_DEEP

if TYPE_CHECKING:
    import yaml

_TOO_DEEP_FOR_LIBYAML = "exceeded maximum nesting depth"
"""What libyaml says, from the release in PyYAML 6.0.4 on, of lists in lists beyond a thousand: it
may look ahead so far before it gives the first of them. Our own bound is lower."""


class YamlError(ValueError):
    """A text that is no YAML as Kubernetes reads it; line and column count from 1."""

    def __init__(self, message: str, line: int = 0, column: int = 0, go_line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.go_line = go_line
        """The line that go-yaml names, which is often the one before; 0 where it names none."""

    @property
    def go_text(self) -> str:
        """The error as sigs.k8s.io/yaml words it: `yaml: line 1: did not find …`."""
        if self.message.startswith("json: "):  # YAML that no JSON can be made of
            return self.message
        where = f"line {self.go_line}: " if self.go_line else ""
        return f"yaml: {where}{self.message}"


@contextmanager
def parser_errors(text: str | bytes) -> Iterator[None]:
    """Raise errors of libyaml, which reads `text`, as YamlError."""
    import yaml

    try:
        yield
    except yaml.YAMLError as error:
        raise from_parser_error(error, text) from error


def from_parser_error(error: "yaml.YAMLError", text: str | bytes) -> YamlError:
    """Return the error that libyaml raised for `text` as a YamlError."""
    import yaml

    if isinstance(error, yaml.MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        message = error.problem or error.context or "malformed YAML"
        if message == _TOO_DEEP_FOR_LIBYAML:
            message = TOO_DEEP
        if mark is None:
            return YamlError(message)
        return YamlError(
            message,
            mark.line + 1,
            mark.column + 1,
            _go_line(error, is_scanner=isinstance(error, yaml.scanner.ScannerError)),
        )
    if isinstance(error, yaml.reader.ReaderError):
        data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        before = data[: error.position]
        line_start = before.rfind(b"\n") + 1
        column = len(before[line_start:].decode("utf-8", "replace")) + 1
        return YamlError(str(error.reason), before.count(b"\n") + 1, column)
    return YamlError(str(error))


def _go_line(error: "yaml.MarkedYAMLError", *, is_scanner: bool) -> int:
    """Return the line that go-yaml v2 names for an error, 0 where it names none.

    Its marks count from 0, and only errors of its scanner have one added, so that errors of its
    parser name the line before. upstream: go.yaml.in/yaml/v2 decode.go `fail`
    """
    if error.problem_mark is not None and error.problem_mark.line:
        line: int = error.problem_mark.line
        return line + is_scanner
    return error.context_mark.line if error.context_mark is not None else 0
