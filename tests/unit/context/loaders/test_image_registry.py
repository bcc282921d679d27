"""`imageRegistry` entries: values or an error, since no registry is asked."""

from kyvsim.model.values import Values


def test_images_are_errors_without_values(ask):
    entry = {"reference": "x.io/a:{{request.namespace}}"}
    assert ask(imageRegistry=entry) == (
        "failed to fetch image data of x.io/a:shop for context entry got: kyvsim asks no registry; "
        "give the data in the values file: globalValues: {got: {}}"
    )
    given = Values(global_values={"got": {"tag": "t"}})
    assert ask(given, imageRegistry=entry) == {"tag": "t"}


def test_a_reference_that_cannot_be_filled_is_told(ask):
    found = ask(imageRegistry={"reference": "{{ request.object.nope }}"})
    assert found.startswith("failed to load image reference for context entry got: ")
