"""Payloads: what policies judge that is no object of a cluster."""

from kyvsim.kube.objects import Json
from kyvsim.light.enumeration import StrEnum
from kyvsim.light.named_tuple import NamedTuple
from kyvsim.model.source import Document


class PayloadMode(StrEnum):
    """What a payload is; policies name it in `spec.evaluation.mode`."""

    JSON = "JSON"
    HTTP = "HTTP"
    ENVOY = "Envoy"


class Payload(NamedTuple):
    """One payload, read from a file."""

    mode: PayloadMode
    document: Document
    name: str
    """What stands for it in rows: the path as it was given."""
    folder: str = ""
    """What rows show before the name, and need not name."""

    @property
    def data(self) -> Json:
        """What it holds."""
        return self.document.data
