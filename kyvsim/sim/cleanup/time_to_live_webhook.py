"""What the cleanup controller says of labels with a lifetime before they are stored.

Source of the rules: upstream cmd/cleanup-controller/handlers/admission/resource, pkg/validation.
"""

from datetime import UTC, datetime

from kyvsim.sim.cleanup.time_to_live import TtlError, end_of_life
from kyvsim.sim.server import Review, Verdict
from kyvsim.sim.server.request import ALLOWED, written

_SOME_TIME = datetime(2026, 1, 1, tzinfo=UTC)
_UNREAD = "cleanup.kyverno.io/ttl label value cannot be parsed as any recognizable format"


class TimeToLiveWebhook:
    """Warns of lifetimes that cannot be read."""

    def mutate(self, review: Review) -> Verdict:
        """Return that an object is left alone."""
        del review
        return ALLOWED

    def validate(self, review: Review) -> Verdict:
        """Return a warning where the label of an object is no lifetime; nothing is refused."""
        obj = written(review)
        if obj is None:
            return ALLOWED
        try:
            end_of_life(obj, _SOME_TIME)
        except TtlError as error:
            return Verdict(warnings=(f"{_UNREAD} ({error})",))
        return ALLOWED
