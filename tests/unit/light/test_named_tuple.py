"""Named tuples are those of the standard library in all that the package uses of them."""

import pickle
import subprocess
import sys
import typing

import pytest

from kyvsim.light.named_tuple import NamedTuple


class Ours(NamedTuple):
    """A place."""

    name: str
    """What it is called."""
    size: int = 3
    inside: "tuple[Ours, ...]" = ()

    @property
    def shown(self):
        return f"{self.name} {self.size}"


class Theirs(typing.NamedTuple):
    """A place."""

    name: str
    size: int = 3
    inside: "tuple[Theirs, ...]" = ()

    @property
    def shown(self):
        return f"{self.name} {self.size}"


def alike(ask):
    """Return what `ask` gives or raises for a class of ours, where it is the same for theirs."""
    found = []
    for kind in (Ours, Theirs):
        try:
            found.append(ask(kind))
        except (TypeError, ValueError, AttributeError) as error:
            found.append(type(error))
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(
    ("ask", "expected"),
    [
        (lambda kind: kind("a"), ("a", 3, ())),
        (lambda kind: kind("a", inside=("b",), size=4), ("a", 4, ("b",))),
        (lambda kind: kind("a", 4).size, 4),
        (lambda kind: kind("a").shown, "a 3"),
        (lambda kind: kind("a")._replace(size=5), ("a", 5, ())),
        (lambda kind: type(kind("a")._replace(size=5)) is kind, True),
        (lambda kind: kind._make(iter("abc")), ("a", "b", "c")),
        (lambda kind: type(kind._make("abc")) is kind, True),
        (lambda kind: kind("a")._asdict(), {"name": "a", "size": 3, "inside": ()}),
        (lambda kind: kind._fields, ("name", "size", "inside")),
        (lambda kind: kind._field_defaults, {"size": 3, "inside": ()}),
        (lambda kind: kind.__match_args__, ("name", "size", "inside")),
        (lambda kind: kind.__doc__, "A place."),
        (lambda kind: kind.__new__.__name__, "__new__"),
        (lambda kind: hash(kind("a")) == hash(("a", 3, ())), True),
        (lambda kind: type(pickle.loads(pickle.dumps(kind("a", 4)))) is kind, True),
        (lambda kind: pickle.loads(pickle.dumps(kind("a", 4))), ("a", 4, ())),
        (lambda kind: repr(kind("a")).removeprefix(kind.__name__), "(name='a', size=3, inside=())"),
        (lambda kind: typing.get_type_hints(kind)["size"], int),
        (lambda kind: kind(), TypeError),
        (lambda kind: kind("a", 1, (), 2), TypeError),
        (lambda kind: kind("a", colour=1), TypeError),
        (lambda kind: kind._make("ab"), TypeError),
        (lambda kind: setattr(kind("a"), "size", 4), AttributeError),
        (lambda kind: setattr(kind("a"), "colour", 4), AttributeError),
    ],
)
def test_named_tuples_are_those_of_the_standard_library(ask, expected):
    assert alike(ask) == expected


def test_positions_match_patterns():
    match Ours("a", 4):
        case Ours(name, 4):
            assert name == "a"
        case _:
            pytest.fail("does not match")


def test_unknown_fields_are_not_replaced():
    with pytest.raises((ValueError, TypeError), match="colour"):
        Ours("a")._replace(colour=1)


def test_fields_without_defaults_come_first():
    with pytest.raises(TypeError, match="default"):

        class Wrong(NamedTuple):
            size: int = 3
            name: str


def test_a_named_tuple_may_have_no_fields():
    class Nothing(NamedTuple):
        """Says nothing."""

    assert Nothing() == ()


@pytest.mark.parametrize("count", range(30))
def test_fields_have_their_values_however_many_there_are(count):
    names = [f"f{index}" for index in range(count)]
    kind = type(NamedTuple)("Wide", (NamedTuple,), {"__annotations__": dict.fromkeys(names, int)})
    assert kind(*range(count))._asdict() == dict(zip(names, range(count), strict=True))
    assert kind(**dict(zip(names, range(count), strict=True))) == tuple(range(count))


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="there they are the standard library's")
@pytest.mark.parametrize(("fields", "compiled"), [(0, 0), (2, 0), (9, 0), (24, 0), (27, 1)])
def test_classes_of_as_many_fields_are_compiled_once_and_small_ones_never(fields, compiled):
    code = f"""
import sys
from kyvsim.light.named_tuple import NamedTuple
compiled = []
sys.addaudithook(lambda event, _: compiled.append(event) if event == "compile" else None)
for number in range(20):
    names = [f"f{{number}}_{{index}}" for index in range({fields})]
    body = {{"__annotations__": dict.fromkeys(names)}}
    one = type(NamedTuple)(f"C{{number}}", (NamedTuple,), body)
    assert one(**dict.fromkeys(names, number)) == (number,) * {fields}
print(len(compiled))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == compiled
