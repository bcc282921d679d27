"""Looking for cycles costs more than it gives in a program that soon ends."""

import gc

import pytest

from kyvsim.cli.main import main


def test_the_program_seldom_looks_for_cycles():
    usual = gc.get_threshold()
    try:
        with pytest.raises(SystemExit):
            main(["version"])
        assert gc.isenabled()
        assert gc.get_threshold()[0] >= 50_000
    finally:
        gc.set_threshold(*usual)
        gc.unfreeze()
