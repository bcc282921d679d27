from datetime import timedelta

from kyvsim.api.system import own_system


def test_the_clock_goes_on_in_utc():
    clock = own_system().clock
    first = clock.now()
    assert first.utcoffset() == timedelta(0)
    assert clock.now() >= first


def test_chance_stays_below_its_bound():
    entropy = own_system().entropy
    drawn = [entropy.below(3) for _ in range(200)]
    assert set(drawn) == {0, 1, 2}
    assert entropy.below(1) == 0
