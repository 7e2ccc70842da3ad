"""Read back a saved workflow state, which `wizard.kernel.values.to_json` writes."""
# ruff: noqa: F401 - pydantic looks the names of the fields' types up where it is called; `values` imports no stage

from __future__ import annotations

from wizard.flow.values import State


def read(text: str | bytes, where: str) -> State:
    """Read a state.

    Args:
        text: The JSON text.
        where: The source named in the error, such as a file name.

    Raises:
        UsageError: TW-K01 if it does not fit.
    """
    from pydantic import TypeAdapter, ValidationError

    from wizard.advise.advice import Advice, Choice
    from wizard.bench.order import Wanted
    from wizard.catalog.recipes import Recipe
    from wizard.chat.conversation import Conversation
    from wizard.kernel.values import unfit
    from wizard.model.facts import ModelFacts
    from wizard.plan.plan import Plan
    from wizard.probe.host import Host
    from wizard.serve.endpoint import Endpoint

    try:
        return TypeAdapter(State).validate_json(text)
    except ValidationError as error:
        raise unfit(error, where) from error
