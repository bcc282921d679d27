"""What a command prints, in the order in which it does, and how it ended."""

from typing import NamedTuple

from kyvsim.chainsaw.ending import UnsupportedError

STDOUT, STDERR = 1, 2


class Printed(NamedTuple):
    """Text for standard output or standard error."""

    stream: int
    text: str
    unknown: str = ""
    """The command whose output this is where nobody here knows the output, "" for a text."""


class Result(NamedTuple):
    """How a command ended."""

    status: int = 0
    printed: tuple[Printed, ...] = ()

    def text(self, stream: int) -> str:
        """Return everything that went to a stream; raises UnsupportedError for unknown output."""
        for one in self.printed:
            if one.stream == stream:
                require_known(one)
        return self.known_text(stream)

    def known_text(self, stream: int) -> str:
        """Return what is known of what went to a stream, for messages."""
        return "".join(one.text for one in self.printed if one.stream == stream)


def require_known(printed: Printed) -> None:
    """Raise UnsupportedError where something depends on output that nobody here knows."""
    if printed.unknown:
        raise UnsupportedError(f"the output of {printed.unknown}")


def unknown_output(command: str) -> Result:
    """Return that a command succeeded, and printed what nobody here knows."""
    return Result(0, (Printed(STDOUT, "", command), Printed(STDERR, "", command)))


def out(text: str, status: int = 0) -> Result:
    """Return that a command printed a text to standard output."""
    return Result(status, (Printed(STDOUT, text),) if text else ())


def complaint(text: str, status: int = 1) -> Result:
    """Return that a command failed, and what it printed to standard error."""
    return Result(status, (Printed(STDERR, text),) if text else ())
