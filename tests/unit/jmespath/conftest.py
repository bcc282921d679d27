from datetime import UTC, datetime

import pytest

from kyvsim.jmespath import System
from kyvsim.model.ports import Meter


class Still:
    """A clock that stands and a chance that always takes the last."""

    def now(self):
        return datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def below(self, bound):
        return bound - 1


class Given:
    """A scope over plain data that remembers which names were asked for."""

    def __init__(self, data, *, deleting=False):
        self.data = data
        self.deleting = deleting
        self.asked = set()

    def root(self, names):
        self.asked |= names
        return self.data


@pytest.fixture
def env():
    return System(Still(), Still(), Meter())


@pytest.fixture
def given():
    return Given
