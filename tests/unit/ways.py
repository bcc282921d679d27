"""Ways to places in objects, as people write them."""

from kyvsim.model.policy import Hole


def way_text(way):
    """Return a way as people write it: `spec.containers[].image`."""
    text = ""
    for step in way:
        if step is Hole.ELEMENT:
            text += "[]"
        else:
            name = "*" if isinstance(step, Hole) else step
            text += f".{name}" if text else name
    return text
