"""The windows of the chat. They return the decision; None means cancelled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from textual.app import App

from wizard.catalog.presets import Preset, remove
from wizard.catalog.presets import save as keep_preset
from wizard.chat.conversation import Conversation
from wizard.chat.race import RaceResult
from wizard.chat.saving import FILE, RESULT_FILE, result_file_name, save, save_result, target
from wizard.chat.settings import SETTINGS, answers_of, preset_of, unsupported, with_answers
from wizard.chat.thinking_modes import modes
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line, plain
from wizard.plan.question import Question
from wizard.serve.endpoint import Endpoint
from wizard.tui import background
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.logprobs import LogprobsScreen
from wizard.tui.screens.modal import AskScreen
from wizard.tui.views.chat import ChatView
from wizard.tui.widgets.error import errors_shown
from wizard.tui.widgets.model_chat import ModelChat

NAME = Question("name", "text", mark("Name"), "", required=True, help=mark("Letters, digits, '_' and '-'."))
ALTERNATIVES = 5
"""Number of alternatives per token to request."""
GROUPS = (
    (mark("Role"), ("system",)),
    (mark("Thinking"), ("thinking",)),
    (mark("Token sampling"), ("temperature", "top_p", "top_k", "min_p", "seed")),
    (mark("Repetition"), ("repetition_penalty", "presence_penalty", "frequency_penalty")),
    (mark("Stop conditions"), ("max_tokens", "stop")),
)
"""All settings, in groups."""


async def ask_settings(app: App[Any], view: ChatView, pinned: Mapping[str, object]) -> Conversation | None:
    """Change the sampling settings.

    Raises:
        UsageError: TW-C08 if a value is out of its range.
    """
    known = {setting.name: setting for setting in SETTINGS}
    if view.served and view.served.default_temperature is not None:
        own = tr("{value:g}, the model's default", value=view.served.default_temperature)
        known["temperature"] = replace(known["temperature"], otherwise=own)
    if view.served and view.served.chat and (names := modes(view.served.chat).names):
        about = tr("This model's modes: {modes}.", modes=names)
        known["thinking"] = replace(known["thinking"], help=about)
    form = FormScreen(
        tr("Answer settings"),
        [known[name] for _heading, names in GROUPS for name in names],
        answers_of(view.conversation),
        pinned,
        {names[0]: tr(heading) for heading, names in GROUPS},
        dict.fromkeys(unsupported(view.served) if view.served else (), tr("not supported here")),
    )
    answers = await app.push_screen_wait(form)
    return None if answers is None else with_answers(view.conversation, {name: answers.get(name) for name in known})


async def ask_preset(app: App[Any], presets: Callable[[], list[Preset]], present: Conversation) -> Preset | None:
    """Choose a preset; or save the ``present`` settings as one, or remove a saved one.

    Raises:
        WizardError: See `wizard.catalog.presets`.
    """
    known = await background.call(presets)
    choices = [
        (preset.name, ": ".join(filter(None, (preset.name, preset.about and tr(preset.about))))) for preset in known
    ]
    choices.append(("+", tr("Save the current system prompt and settings as a preset")))
    own = [(preset.name, preset.name) for preset in known if preset.own]
    if own:
        choices.append(("-", tr("Remove one of your presets")))
    answer = await app.push_screen_wait(AskScreen(tr("How should the model answer?"), choices))
    if answer not in ("+", "-"):
        return next((preset for preset in known if preset.name == answer), None)
    if answer == "+":
        answers = await app.push_screen_wait(FormScreen(tr("Save as a preset"), [NAME], {}))
        if answers:
            preset = preset_of(str(answers["name"]), present, one_line(present.system)[:60])
            path = await background.call(partial(keep_preset, preset))
            app.notify(tr("Saved to {path}", path=plain(str(path))), markup=False)
    elif (name := await app.push_screen_wait(AskScreen(tr("Which preset do you want to remove?"), own))) is not None:
        await background.call(partial(remove, name))
    return None


async def ask_file(app: App[Any], name: str, endpoint: Endpoint, conversation: Conversation) -> str | None:
    """Save the conversation to a file, with the default ``name``; an existing file only after confirmation.

    Returns:
        The file's name, whether or not it could be written.
    """
    write = partial(save, model=endpoint.model, conversation=conversation)
    return await _ask_file(app, tr("Save the conversation"), FILE, name, write)


async def ask_result_file(app: App[Any], result: RaceResult) -> None:
    """Save the result of a comparison; as `ask_file`."""
    name = result_file_name(result)
    await _ask_file(app, tr("Save the comparison"), RESULT_FILE, name, partial(save_result, result=result))


async def ask_subject(app: App[Any], server: Endpoint) -> str | None:
    """What of a comparison to save: the ``conversation`` with ``server``, or the ``comparison``."""
    choices = [
        ("conversation", tr("The conversation with {name}", name=one_line(server.title))),
        ("comparison", tr("The last comparison, as a picture (SVG) or data (JSON)")),
    ]
    return await app.push_screen_wait(AskScreen(tr("What do you want to save?"), choices))


async def _ask_file(app: App[Any], title: str, question: Question, name: str, write: Callable[..., None]) -> str | None:
    answers = await app.push_screen_wait(FormScreen(title, [question], {question.name: name}))
    if not answers:
        return None
    name = str(answers[question.name])
    path, there = target(name)
    if there:
        choices = [("keep", tr("Keep it")), ("overwrite", tr("Overwrite"))]
        confirm = AskScreen(tr("{path} already exists. Overwrite it?", path=path), choices)
        if await app.push_screen_wait(confirm) != "overwrite":
            return name
    with errors_shown(app):
        await background.call(partial(write, path, overwrite=there))
        app.notify(tr("Saved to {path}", path=plain(str(path))), markup=False)
    return name


def show_probabilities(app: App[Any], talk: ModelChat, present: Conversation) -> Conversation | None:
    """Show the token probabilities of the last answer of ``talk``, or why they are unknown.

    Returns:
        The ``present`` conversation with log probabilities turned on, if they were off.
    """
    if talk.logprobs:
        app.push_screen(LogprobsScreen(talk.logprobs))
    elif present.sampling.logprobs is None:
        app.notify(tr("Token probabilities will be requested starting with the next answer"))
        return replace(present, sampling=replace(present.sampling, logprobs=ALTERNATIVES))
    elif talk.view.stats is None or not talk.weighed:
        app.notify(tr("Token probabilities will be available with the next answer"))
    else:
        app.notify(tr("This server does not report probabilities"), severity="warning")
    return None
