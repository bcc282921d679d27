import pytest

from kyvsim.patch.nodes import UnreadableObjectError, read_back


def test_what_is_no_object():
    with pytest.raises(UnreadableObjectError) as caught:
        read_back({"b": 1.0, "a": "<"})
    assert caught.value.message == 'Object \'Kind\' is missing in \'{"a":"\\u003c","b":1}\''
    for broken in ({"kind": ""}, {"kind": 5.0}, {"kind": "A", "apiVersion": "a/b/c"}, [1.0]):
        with pytest.raises(UnreadableObjectError):
            read_back(broken)
    assert read_back({"kind": "A", "n": 1.0})["n"].__class__ is int
