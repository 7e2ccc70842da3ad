"""The plan of a server that may be there already, with what the recipe of the model's name settles."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from wizard.advise.advice import Choice
from wizard.catalog.recipes import Recipe, recipes
from wizard.kernel.errors import UsageError
from wizard.kernel.language import tr
from wizard.kernel.paths import Workspace
from wizard.kernel.values import from_data, from_json
from wizard.model.facts import ModelFacts
from wizard.plan.build import FIRST_QUESTION, build
from wizard.plan.options import Options
from wizard.plan.plan import Plan, Start
from wizard.plan.ports import Ports
from wizard.probe.host import Host


def earlier_plan(workspace: Workspace, name: str) -> Plan | None:
    """The plan that the server ``name`` was last made from, if there is one that can be read."""
    if name not in workspace.names():
        return None
    path = workspace.server(name).plan
    try:
        return from_json(Plan, path.read_text(encoding="utf-8"), where=str(path))
    except (OSError, UsageError):
        return None  # it is made anew from what the user says


def latest_plan(workspace: Workspace, names: Iterable[str]) -> Plan | None:
    """Of the servers ``names`` the plan that was carried out last, to its end or not; None if none can be read."""
    made: list[tuple[float, str]] = []
    for name in names:
        with suppress(OSError):
            made.append((workspace.server(name).plan.stat().st_mtime, name))
    plans = (earlier_plan(workspace, name) for _when, name in sorted(made, reverse=True))
    return next((plan for plan in plans if plan is not None), None)


def model_origin(facts: ModelFacts) -> str:
    """What names the model wherever one is: a path as it was typed names another file in another folder."""
    return facts.location if facts.source in ("folder", "gguf") else facts.ref


def replan(
    host: Host,
    facts: ModelFacts,
    choice: Choice,
    workspace: Workspace,
    *,
    name: str,
    on_purpose: bool,
    http_port: int | None = None,
    running: Ports | None = None,
) -> Plan:
    """Plan the server ``name`` anew.

    Args:
        host: The machine that the plan is for.
        facts: The model.
        choice: One of the advice's choices.
        workspace: Where everything is made.
        name: Name of the server.
        on_purpose: The user gave that name; another model may take it.
        http_port: First port to try for HTTP; None: the one of the earlier plan.
        running: Ports of this server if it runs; they are kept.

    Raises:
        UsageError: TW-L04 if another model is served under ``name``; others as `wizard.plan.build.build` says.
    """
    before = earlier_plan(workspace, name)
    if running and before and not on_purpose:
        _check_model(before, facts)
    ready_made = next((recipe for recipe in recipes() if recipe.name == facts.ref), None)
    # With another stack it is another way, of which the recipe's options and repairs say nothing.
    same = ready_made if ready_made and ready_made.answers.get("stack", choice.stack) == choice.stack else None
    made = build(
        host,
        facts,
        choice,
        workspace,
        name=name,
        http_port=http_port or (None if running else _port(before)),
        keep_ports=running,
        question=(ready_made and ready_made.first_question) or FIRST_QUESTION,
        options=from_data(Options, same.options, where=f"profiles/recipes/{same.name}.toml") if same else None,
    )
    again = tr("The server {name} is running with other settings; it is restarted with these.", name=name)
    restarted = (again,) if running and before and before.fingerprint != made.fingerprint else ()
    return replace(made, notes=(*restarted, *made.notes, *_recipe_notes(same)))


def _check_model(before: Plan, facts: ModelFacts) -> None:
    """A server that runs is not given another model by the way."""
    if model_origin(before.facts) != model_origin(facts):
        name = before.name
        raise UsageError(
            "TW-L04",
            tr("the server {name} is already running and serves {ref}", name=name, ref=before.facts.ref),
            tr(
                "Use another name: --name {name}-2. To replace the model of this server on purpose, pass --name "
                "{name}.",
                name=name,
            ),
        )


def _port(before: Plan | None) -> int | None:
    """The HTTP port that the server had."""
    actions = (action for step in (before.steps if before else ()) for action in step.actions)
    return next((action.ports.http for action in actions if isinstance(action, Start)), None)


def _recipe_notes(recipe: Recipe | None) -> tuple[str, ...]:
    """What the recipe repairs of its tutorial, and what it leaves out."""
    if recipe is None:
        return ()
    return (
        *(tr("Fixed: {one}", one=tr(text)) for text in recipe.repaired),
        *(tr("Not supported yet: {one}", one=tr(text)) for text in recipe.later),
    )
