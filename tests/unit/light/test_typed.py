"""The words of types do at run time what the package asks of them, and are typing's otherwise."""

import subprocess
import sys
import typing
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import kyvsim
from kyvsim.light import typed

ROOT = Path(kyvsim.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

T = typed.TypeVar("T", bound=int)
P = typed.ParamSpec("P")


class Named(typed.Protocol):
    """Has a name."""

    @property
    def name(self) -> str: ...


class Holder(dict[str, typed.Any], typed.Generic[T]):
    """Holds values of a type."""


class Sized(typed.Protocol[T]):
    """Has a size."""

    size: typed.ClassVar[int] = 3


@pytest.mark.parametrize("name", typed.__all__)
def test_each_word_is_one_of_typing(name):
    assert hasattr(typing, name)
    assert hasattr(typed, name)


@pytest.mark.parametrize(
    "write",
    [
        lambda: typed.Final[Mapping[str, int]],
        lambda: typed.Any | None,
        lambda: T | None,
        lambda: None | T,
        lambda: list[T] | None,
        lambda: Named | None,
        lambda: Callable[[T], list[T]][int],
        lambda: Callable[[T], P] | None,
        lambda: Callable[P, T],
        lambda: Callable[typed.Concatenate[int, P], T],
        lambda: typed.IO[str] | None,
        lambda: typed.Union["Named", None],
        lambda: P.args,
        lambda: P.kwargs,
    ],
)
def test_types_can_be_written_with_them(write):
    write()


def test_an_alias_is_given_its_types():
    assert dict[str, T][int] == dict[str, int]


def test_bases_add_nothing():
    assert Holder({"a": 1}) == {"a": 1}
    assert Sized.size == 3
    assert not isinstance(Holder(), Named)


def test_a_value_stays_as_it_is():
    value = object()
    assert typed.cast(int, value) is value


def test_every_module_can_be_loaded():
    """What stands in annotations is made when a module is loaded."""
    modules = [
        ".".join(("kyvsim", *file.relative_to(ROOT).with_suffix("").parts)) for file in FILES
    ]
    wanted = [name.removesuffix(".__init__") for name in modules if not name.endswith("__main__")]
    code = f"import importlib\nfor name in {wanted!r}: importlib.import_module(name)"
    subprocess.run([sys.executable, "-c", code], check=True)
