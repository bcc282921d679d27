"""What certainly holds of an object, told as shapes; many shapes are looked at in one walk."""

from kyvsim.engine.prefilter.shapes import (
    Both,
    DoubtError,
    Each,
    Entry,
    Fields,
    Keys,
    Mark,
    Shape,
    Trace,
    Value,
    Walk,
    compile_walk,
    fits_null,
    is_scalar,
    together,
)

__all__ = [
    "Both",
    "DoubtError",
    "Each",
    "Entry",
    "Fields",
    "Keys",
    "Mark",
    "Shape",
    "Trace",
    "Value",
    "Walk",
    "compile_walk",
    "fits_null",
    "is_scalar",
    "together",
]
