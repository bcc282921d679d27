"""What scripts can reach: the cluster, the files of the test, and those that they write."""

from kyvsim.chainsaw.ending import UnsupportedError
from kyvsim.chainsaw.session import Situation
from kyvsim.kube.objects import Json
from kyvsim.light.named_tuple import NamedTuple

_NOWHERE = "/dev/null"
_STDIN = frozenset({"-", "/dev/stdin"})


class Surroundings(NamedTuple):
    """The surroundings of a script."""

    situation: Situation

    def read(self, name: str, stdin: str = "") -> str | None:
        """Return the text of a file, None where there is none."""
        if name == _NOWHERE:
            return ""
        if name in _STDIN:
            return stdin
        name = name.removeprefix("./")
        if name in self.situation.session.written:
            return self.situation.session.written[name]
        if name.startswith("/"):
            raise UnsupportedError(f"the file `{name}`, which is outside of the test's folder")
        return self.situation.session.files.text(name)

    def write(self, name: str, text: str, *, append: bool) -> None:
        """Write a file that only scripts of this test see."""
        if name in {_NOWHERE, "/dev/stdout", "/dev/stderr"}:
            return
        written = self.situation.session.written
        before = (self.read(name) or "") if append else ""
        written[name.removeprefix("./")] = before + text

    def objects(self, name: str, stdin: str = "") -> tuple[tuple[Json, ...], str]:
        """Return the documents of a file, and why there are none."""
        if name in _STDIN or name.removeprefix("./") in self.situation.session.written:
            return self.situation.session.files.parsed(self.read(name, stdin) or "")
        return self.situation.session.files.objects(name)
