"""Answers given in place of what a cluster or a service would have said."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from kyvsim.kube.objects import Json
from kyvsim.model.image_data import ImageData

LAST_GOOD_STATUS = 299


class CallAnswer(NamedTuple):
    """What an API call is answered with."""

    status: int
    """The HTTP status."""
    body: Json

    @property
    def good(self) -> bool:
        """Whether the status is one of success."""
        return 200 <= self.status <= LAST_GOOD_STATUS


class GlobalData(NamedTuple):
    """What stands for a GlobalContextEntry."""

    data: Json
    """An object, or a list of objects."""
    field_path: str = ""
    """The JMESPath expression of the part that counts; "" for all of it."""
    projections: tuple[tuple[str, str], ...] = ()
    """Names, and the JMESPath expressions that give their values."""


class Mocks(NamedTuple):
    """All answers given."""

    calls: Mapping[tuple[str, str], CallAnswer] = MappingProxyType({})
    """By method ("" for any) and URL or URL path."""
    global_data: Mapping[str, GlobalData] = MappingProxyType({})
    """By the entry's name."""
    images: Mapping[str, ImageData] = MappingProxyType({})
    """By the image's whole reference: with registry, and with digest or tag."""

    def answer(self, method: str, url: str) -> CallAnswer | None:
        """Return the answer to a call, or None; one for just this method comes first."""
        return self.calls.get((method, url)) or self.calls.get(("", url))


NO_MOCKS = Mocks()
