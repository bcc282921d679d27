"""What a command prints, in the order in which it does, and how it ended."""

from kyvsim.light.named_tuple import NamedTuple

STDOUT, STDERR = 1, 2


class Printed(NamedTuple):
    """Text for standard output or standard error."""

    stream: int
    text: str


class Result(NamedTuple):
    """How a command ended."""

    status: int = 0
    printed: tuple[Printed, ...] = ()

    def text(self, stream: int) -> str:
        """Return everything that went to a stream."""
        return "".join(one.text for one in self.printed if one.stream == stream)


def out(text: str, status: int = 0) -> Result:
    """Return that a command printed a text to standard output."""
    return Result(status, (Printed(STDOUT, text),) if text else ())


def complaint(text: str, status: int = 1) -> Result:
    """Return that a command failed, and what it printed to standard error."""
    return Result(status, (Printed(STDERR, text),) if text else ())
