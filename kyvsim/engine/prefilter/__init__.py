"""What certainly holds of an object, told as shapes; many shapes are looked at in one walk."""

from kyvsim.engine.prefilter.shapes import (
    BitMask,
    BothShapes,
    FieldShape,
    ItemShape,
    KeysShape,
    MapShape,
    Shape,
    Trace,
    UndecidableError,
    ValueShape,
    Walk,
    compile_walk,
    fits_null,
    is_scalar,
    together,
)

__all__ = [
    "BitMask",
    "BothShapes",
    "FieldShape",
    "ItemShape",
    "KeysShape",
    "MapShape",
    "Shape",
    "Trace",
    "UndecidableError",
    "ValueShape",
    "Walk",
    "compile_walk",
    "fits_null",
    "is_scalar",
    "together",
]
