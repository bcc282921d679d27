"""Messages of validate rules: the rule's own text with its variables, and what is put around it.

Source of the wording: upstream pkg/engine/handlers/validation/validate_resource.go.
"""

from collections.abc import Callable

from kyvsim.engine.compile.compiled import Outcome, passed
from kyvsim.engine.context import JSONContext
from kyvsim.jmespath import QueryError, System, Template, compile_template
from kyvsim.kubernetes.objects import Json
from kyvsim.languages.classic.rule_type import RuleContext

MessageRenderer = Callable[[str, JSONContext], Json]
"""Fills the variables of a text; raises `QueryError` where one cannot be resolved."""


_NO_TEXT = "the produced message didn't resolve to a string, check your policy definition."


def compile_messages(system: System, text: str) -> MessageRenderer:
    """Return a renderer that has compiled `text`, and compiles any other text once.

    A rule has few texts: its own, and its own joined with those of the conditions that held.
    """
    templates: dict[str, Template] = {text: compile_template(text, system)}

    def render(message: str, scope: JSONContext) -> Json:
        template = templates.get(message)
        if template is None:
            template = templates[message] = compile_template(message, system)
        return template.value if template.constant else template.render(scope)

    return render


def own_message(context: RuleContext) -> str:
    """Return the text of a validate rule's `message`, or ""."""
    return (context.rule.data.get("validate") or {}).get("message") or ""


def has_fixed_message(context: RuleContext) -> bool:
    """Return whether the text of a validate rule's `message` has no variables."""
    return compile_template(own_message(context), context.system).constant


def usual_pass(context: RuleContext) -> Outcome:
    """Return the pass of a validate rule that looks at the object as a whole."""
    return passed(f"validation rule '{context.rule.name}' passed.")


def compile_denial_message(
    system: System, own: str, bare: str
) -> Callable[[JSONContext, str], str]:
    """Return what joins `own` with the texts of the conditions that held; `bare` where all lack."""
    render = compile_messages(system, own)

    def message(scope: JSONContext, conditions: str) -> str:
        parts = [part for part in (own, conditions) if part]
        if not parts:
            return bare
        try:
            rendered = render("; ".join(parts), scope)
        except QueryError:
            return conditions
        return rendered if rendered.__class__ is str else _NO_TEXT

    return message


def compile_failure_message(
    context: RuleContext,
) -> Callable[[JSONContext, str, str], tuple[str, str]]:
    """Return a function: the rule's own message before `end`, or `cause` without a value.

    That returns the whole text, and the part of it that is the rule's own message.
    """
    own, name = own_message(context), context.rule.name
    render = compile_messages(context.system, own)

    def message(scope: JSONContext, end: str, cause: str) -> tuple[str, str]:
        if not own:
            return f"validation error: {end}", ""
        try:
            rendered = str(render(own, scope))
        except QueryError:
            failed = f"variables substitution error in rule {name} execution error: {cause}"
            return f"validation error: {failed}", ""
        sentence = rendered if rendered.endswith(".") else f"{rendered}."
        return f"validation error: {sentence} {end}", rendered

    return message
