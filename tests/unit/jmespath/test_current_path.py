import pytest

from kyvsim.jmespath.variables import current_path


@pytest.mark.parametrize(
    ("path", "expression"),
    [
        ("/mutate/patchStrategicMerge/spec/x", "o.spec.x"),
        ("/validate/pattern/spec/containers/0/image", "o.spec.containers[0].image"),
        ("/mutate/foreach/0/patchStrategicMerge/spec", "o.spec"),
        ("/validate/pattern/metadata/labels/a.b\\/c", 'o.metadata.labels."a.b\\/c"'),
        ("/validate/pattern/(spec)/x", "o.(spec).x"),
        ("/validate/pattern", "o"),
        ("", "o"),
        ("/a/b/1c/é", 'o."1c"."é"'),
    ],
)
def test_path(path, expression):
    assert current_path(path, ("o",)) == expression
