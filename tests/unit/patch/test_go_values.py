from kyvsim.patch.structured_merge import literal


def test_values_are_printed_as_go_prints_their_types():
    value = {"b": [True, None, "x"], "a": 1.0, "c": {}}
    assert literal(value) == (
        'map[string]interface {}{"a":1, "b":[]interface {}{true, interface {}(nil), "x"}, '
        '"c":map[string]interface {}{}}'
    )
