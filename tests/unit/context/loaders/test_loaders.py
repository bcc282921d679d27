from importlib import import_module
from pkgutil import iter_modules

from kyvsim.context import loaders
from kyvsim.context.loaders import FIELDS, loader_of
from kyvsim.context.loaders.protocol import ContextLoader


def test_every_loader_is_listed_under_its_field():
    """A module that stands in no line would never be loaded, nor its entries."""
    modules = [
        import_module(f"{loaders.__name__}.{one.name}") for one in iter_modules(loaders.__path__)
    ]
    written = {
        value.field: value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, ContextLoader)
    }
    assert written == {field: loader_of(field) for field in FIELDS}
