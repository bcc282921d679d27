"""What cannot be said in CEL."""

from kyvsim.model.source import Path


class NotConvertible(Exception):  # noqa: N818 — it is no fault: it says what a policy asks for
    """Something has no twin: what it is, what to do about it, and where it stands below."""

    def __init__(self, what: str, advice: str, path: Path = ()) -> None:
        """Take what has no twin, what to do, and the way to it from where it was met."""
        super().__init__(what)
        self.what = what
        self.advice = advice
        self.path = path

    def below(self, *steps: str | int) -> "NotConvertible":
        """Return the same as it is seen from further up."""
        return NotConvertible(self.what, self.advice, (*steps, *self.path))
