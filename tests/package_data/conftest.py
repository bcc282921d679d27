import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = Path(__file__).parent


@pytest.fixture
def script():
    """Return what gives the names that a script of this folder defines."""
    return lambda name: SimpleNamespace(**runpy.run_path(str(HERE / f"{name}.py")))
