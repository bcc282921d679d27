from kyvsim.languages.cel import LANGUAGE
from kyvsim.languages.cel.compile import KINDS


def test_every_kind_that_is_read_is_compiled_and_every_other_way_round():
    names = {kind.name for kind in KINDS}
    compiled = names | {f"Namespaced{name}" for name in names}
    assert {one.rpartition("/")[2] for one in LANGUAGE.kinds} == compiled
