from kyvsim.simulator.api_server.metadata import Identities


def test_a_uid_looks_like_one():
    first = Identities().uid("v1", "Pod", "shop", "a")
    assert [len(part) for part in first.split("-")] == [8, 4, 4, 4, 12]
    assert (first[14], first[19]) == ("5", "8")


def test_alike_things_differ():
    one = Identities()
    assert one.uid("Pod", "a") != one.uid("Pod", "a")
    assert one.generated_name("a-") != one.generated_name("a-")
    assert one.below(1 << 60) != one.below(1 << 60)


def test_what_a_thing_gets_does_not_depend_on_others():
    first, second = Identities(), Identities()
    second.uid("Pod", "b")
    second.generated_name("b-", "shop")
    assert first.uid("Pod", "a") == second.uid("Pod", "a")
    assert first.generated_name("a-", "shop") == second.generated_name("a-", "shop")


def test_another_seed_gives_others():
    assert Identities(1).uid("Pod", "a") != Identities(2).uid("Pod", "a")


def test_a_long_base_is_cut():
    assert len(Identities().generated_name("a" * 80)) == 63
