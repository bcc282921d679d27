"""The ways in which an expression or a template can fail."""


class QuerySyntaxError(ValueError):
    """An expression that is not valid JMESPath; `offset` counts characters from 0."""

    def __init__(self, message: str, expression: str, offset: int) -> None:
        super().__init__(message)
        self.message = message
        self.expression = expression
        self.offset = offset


class QueryError(Exception):
    """An expression that could not be evaluated; `message` is upstream's text."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NotFoundError(QueryError):
    """An expression that ended at a field which a map lacks."""

    def __init__(self, key: str) -> None:
        super().__init__(f'Unknown key "{key}" in path')
        self.key = key


class SubstitutionError(QueryError):
    """A template that could not be filled; `not_found` when a missing field is the cause."""

    def __init__(self, message: str, *, not_found: bool = False) -> None:
        super().__init__(message)
        self.not_found = not_found
