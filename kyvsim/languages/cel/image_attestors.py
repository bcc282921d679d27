"""The attestors of a policy: values that functions take, some of which expressions complete.

Source of the rules: upstream pkg/image/verification/variables/attestors.go.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from kyvsim.cel import BudgetError, CelError, Program
from kyvsim.cel.kyverno.images import Attestor
from kyvsim.cel.kyverno.native import native_text
from kyvsim.kubernetes.go_text import to_json
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.cel.expressions import Compiler
from kyvsim.model.source import Path

_PARTS = (
    ("key", ("cosign", "key"), ()),
    ("cert", ("cosign", "certificate"), ("cert",)),
    ("cert chain", ("cosign", "certificate"), ("certChain",)),
    ("notary cert", ("notary",), ("certs",)),
    ("notary tsa cert", ("notary",), ("tsaCerts",)),
    ("trustedRoot", ("cosign", "trustedRoot"), ()),
)
"""What an expression may give: its name, the field that errors show, and the way on from there."""

AttestorPrograms: TypeAlias = Mapping[str, tuple[tuple[str, Program], ...]]
"""What completes each attestor, by its name."""


class Attestors(dict[str, Any]):
    """The value of `attestors` on one request, each completed when it is first asked for.

    It can be asked for an attestor and walked through, which gives the attestors and not their
    names, and for nothing else.
    upstream: k8s.io/apiserver pkg/cel/lazy/lazy.go
    """

    only_own_kind = True

    def __init__(self, programs: AttestorPrograms) -> None:
        super().__init__()
        self._programs = programs
        self._values: Sequence[Any] = ()

    def see(self, values: Sequence[Any]) -> None:
        """Take the values that the expressions see."""
        self._values = values

    def __iter__(self) -> Iterator[Any]:
        return (self[name] for name in self._programs)

    def __contains__(self, name: object) -> bool:
        return name in self._programs

    def __missing__(self, name: str) -> Attestor:
        for part, program in self._programs[name]:
            start = f"failed to convert {part} in compiled attestor: {name}, error: failed to"
            try:
                value = program.evaluate(self._values)
            except (CelError, BudgetError) as error:
                wrong = f"{start} evaluate compiled attestor: {name}, error: {error}"
                raise CelError(wrong) from None
            try:
                native_text(value)
            except CelError as error:
                wrong = f"{start} convert expression in compiled attestor: {name}, error: {error}"
                raise CelError(wrong) from None
        found = self[name] = Attestor(name)
        return found


def compile_attestors(entries: Sequence[Json], path: Path, compiler: Compiler) -> AttestorPrograms:
    """Return the expressions that complete each attestor, by its name."""
    found: dict[str, tuple[tuple[str, Program], ...]] = {}
    for index, entry in enumerate(entries):
        programs: list[tuple[str, Program]] = []
        for part, shown, rest in _PARTS:
            owner = _at(entry, shown)
            text = _at(owner, (*rest, "expression"))
            if not text:
                continue
            place = (*path, index, *shown, *rest, "expression")
            value = (place[: len(path) + 1], to_json(owner))
            program = compiler.compile(text, place, shown=value)
            if program is not None:
                programs.append((part, program))
        found[entry["name"]] = tuple(programs)
    return found


def _at(value: Json, fields: Sequence[str]) -> Json:
    for field in fields:
        value = (value or {}).get(field)
    return value
