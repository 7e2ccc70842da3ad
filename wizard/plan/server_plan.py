"""The plan of a server that may already exist, with the options of the model's recipe."""

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
    """The last plan of the server ``name``, if there is a readable one."""
    if name not in workspace.names():
        return None
    path = workspace.server(name).plan
    try:
        return from_json(Plan, path.read_text(encoding="utf-8"), where=str(path))
    except (OSError, UsageError):
        return None  # it is recreated from the user's answers


def latest_plan(workspace: Workspace, names: Iterable[str]) -> Plan | None:
    """The most recently run plan of the servers ``names``, completed or not; None if none is readable."""
    made: list[tuple[float, str]] = []
    for name in names:
        with suppress(OSError):
            made.append((workspace.server(name).plan.stat().st_mtime, name))
    plans = (earlier_plan(workspace, name) for _when, name in sorted(made, reverse=True))
    return next((plan for plan in plans if plan is not None), None)


def model_origin(facts: ModelFacts) -> str:
    """A location-independent reference of the model: a relative path means another file in another folder."""
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
    """Plan the server ``name`` again.

    Args:
        host: The machine that the plan is for.
        facts: The model.
        choice: One of the advice's choices.
        workspace: The workspace for all files.
        name: Name of the server.
        on_purpose: Whether the user chose the name, so that another model may replace the server.
        http_port: First port to try for HTTP; None: the one of the earlier plan.
        running: Ports of this server if it is running; they are kept.

    Raises:
        UsageError: TW-L04 if another model is served under ``name``; others see `wizard.plan.build.build`.
    """
    before = earlier_plan(workspace, name)
    if running and before and not on_purpose:
        _check_model(before, facts)
    ready_made = next((recipe for recipe in recipes() if recipe.name == facts.ref), None)
    # A different stack is a different setup, to which the recipe's options and fixes do not apply.
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
    again = tr("The server {name} is running with different settings; the plan restarts it with these.", name=name)
    restarted = (again,) if running and before and before.fingerprint != made.fingerprint else ()
    return replace(made, notes=(*restarted, *made.notes, *_recipe_notes(same)))


def _check_model(before: Plan, facts: ModelFacts) -> None:
    """A running server does not get another model as a side effect."""
    if model_origin(before.facts) != model_origin(facts):
        name = before.name
        raise UsageError(
            "TW-L04",
            tr("the server {name} is already running and serves {ref}", name=name, ref=before.facts.ref),
            tr(
                "Use another name: --name {name}-2. To replace this server's model instead, pass --name {name}.",
                name=name,
            ),
        )


def _port(before: Plan | None) -> int | None:
    """The server's previous HTTP port."""
    actions = (action for step in (before.steps if before else ()) for action in step.actions)
    return next((action.ports.http for action in actions if isinstance(action, Start)), None)


def _recipe_notes(recipe: Recipe | None) -> tuple[str, ...]:
    """The recipe's fixes of its tutorial, and its omissions."""
    if recipe is None:
        return ()
    return (
        *(tr("Differs from the tutorial: {one}", one=tr(text)) for text in recipe.repaired),
        *(tr("Not supported yet: {one}", one=tr(text)) for text in recipe.later),
    )
