"""Ways to places in objects, as people write them."""

from kyvsim.model.field_reference import Segment


def way_text(way):
    """Return a way as people write it: `spec.containers[].image`."""
    text = ""
    for step in way:
        if step is Segment.ELEMENT:
            text += "[]"
        else:
            name = "*" if isinstance(step, Segment) else step
            text += f".{name}" if text else name
    return text
