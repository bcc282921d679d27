"""Payloads that are requests: those that policies can decide on, and what is wrong with others.

Codes: KV152 a payload that cannot be used, KV170 a field of a payload that nobody reads, KV171 an
empty request.
"""

from collections.abc import Iterable, Iterator

from kyvsim.cel.kyverno.authorization import MODES
from kyvsim.cel.kyverno.http_requests import Fields, fields_of_request
from kyvsim.cel.kyverno.messages import MessageError
from kyvsim.model.diagnostic import Diagnostic, Severity, likely
from kyvsim.model.request import Payload, PayloadMode


def checked_payloads(
    payloads: Iterable[Payload],
) -> tuple[tuple[Payload, ...], tuple[Diagnostic, ...]]:
    """Return the payloads that are what their mode says, and what is to be told of all."""
    found: list[Payload] = []
    said: list[Diagnostic] = []
    for payload in payloads:
        problem = _problem(payload)
        if problem is None:
            found.append(payload)
            said += _doubts(payload)
        else:
            said.append(problem)
    return tuple(found), tuple(said)


def _problem(payload: Payload) -> Diagnostic | None:
    """Return why nobody can decide on a payload, or None."""
    mode = MODES.get(payload.mode)
    if mode is None:
        return None
    try:
        mode.read(payload.data)
    except MessageError as error:
        return _unusable(payload, error)
    for fields in _read_in_any_case(payload):
        if fields.unknown and not fields.known:
            # A field that is wrong may be a slip; a map without any that is right is none.
            reason = f"it has none of the fields {', '.join(fields.names)}"
            return _unusable(payload, MessageError(fields.path, reason))
    return None


def _read_in_any_case(payload: Payload) -> Iterator[Fields]:
    """Yield the maps of a payload whose unknown fields Kyverno passes over without a word."""
    if payload.mode is PayloadMode.HTTP:
        yield from fields_of_request(payload.data)


def _unusable(payload: Payload, error: MessageError) -> Diagnostic:
    place = ".".join(map(str, error.path))
    where = f"`{place}`: {error.reason}" if place else error.reason
    text = f"this is no request of mode {payload.mode}: {where}"
    return Diagnostic("KV152", Severity.ERROR, text, payload.document.locate(error.path))


def _doubts(payload: Payload) -> Iterator[Diagnostic]:
    """KV170, KV171: what of a request is not what its file says."""
    for fields in _read_in_any_case(payload):
        for name in fields.unknown:
            path = (*fields.path, name)
            hint = likely(name, fields.names)
            text = f"nothing reads `{'.'.join(map(str, path))}` of an HTTP request{hint}"
            yield Diagnostic("KV170", Severity.WARNING, text, payload.document.locate(path))
    if payload.mode in MODES and not payload.data.get("attributes"):
        text = "this request has no attributes: policies see an empty one"
        yield Diagnostic("KV171", Severity.WARNING, text, payload.document.locate(()))
