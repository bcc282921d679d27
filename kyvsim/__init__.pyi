from kyvsim.api.library import Report as Report
from kyvsim.api.library import Result as Result
from kyvsim.api.library import UnusableInputError as UnusableInputError
from kyvsim.api.library import apply as apply
from kyvsim.api.library import diff as diff
from kyvsim.api.library import explain as explain
from kyvsim.api.library import lint as lint
from kyvsim.api.library import simulate as simulate
from kyvsim.api.library import test as test

__version__: str
