import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

HERE = Path(__file__).parent
SCHEMAS = HERE.parents[2] / "shared" / "schemas" / "kyverno.json"


@pytest.fixture
def script():
    """Return what gives the names that a script of this folder defines."""
    return lambda name: SimpleNamespace(**runpy.run_path(str(HERE / f"{name}.py")))


@pytest.fixture
def crd_schemas():
    """Return the text of the CRDs' schemas."""
    if not SCHEMAS.exists():
        pytest.skip("the CRD schemas are not beside the checkout")
    return SCHEMAS.read_text(encoding="utf-8")
