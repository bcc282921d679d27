"""Engines: what is begun for a run has ended with it."""

import multiprocessing
import threading

from kyvsim.fleet.engines import processes


def test_nothing_of_an_engine_is_left_when_it_is_closed():
    threads, children = {*threading.enumerate()}, {*multiprocessing.active_children()}
    with processes(2) as engine:
        executor = engine.begin(2)
        assert executor.submit(abs, -1).result() == 1
        engine.close(executor)
        assert {*threading.enumerate()} <= threads
    assert {*multiprocessing.active_children()} <= children
