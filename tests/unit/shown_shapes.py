"""What a walk says of objects, in the words of tests."""

from types import SimpleNamespace

from kyvsim.engine.compile.policy_set import ResultCache
from kyvsim.engine.prefilter import compile_walk


def compile_unseen(shapes):
    """Return what tells the shapes that an object was not seen to have, the first as bit 1."""
    trace_of, marks = compile_walk(shapes)

    def unseen(obj):
        trace, found = trace_of(obj), 0
        if trace is None:
            return (1 << len(shapes)) - 1
        for bits in trace:
            found |= bits
        return sum(1 << n for n, mark in enumerate(marks) if not mark.is_shown(found))

    return unseen


def is_shown(shape, obj):
    """Return whether an object was seen to have a shape."""
    return compile_unseen([shape])(obj) == 0


def assert_same_where_known(shape, objects, say):
    """Have the results for objects recalled by what a walk finds of a shape, and compare."""
    trace_of, marks = compile_walk([shape])
    recall = ResultCache(marks)
    for obj in objects:
        trace = trace_of(obj)
        if trace is None:
            continue
        known, said = recall.results(obj, trace), (SimpleNamespace(message=repr(say(obj))),)
        assert known in (None, said), (obj, known, said)
        recall.keep(obj, said)
