"""What the chat asks in windows: settings, presets, a file's name, another server, a conversation."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from textual import work

from wizard.catalog.presets import Preset, remove
from wizard.catalog.presets import save as keep_preset
from wizard.chat.conversation import Conversation
from wizard.chat.saving import FILE, file_name, save, target
from wizard.chat.settings import SETTINGS, answers_of, preset_of, untaken, with_answers, with_preset
from wizard.chat.snippet import KINDS, elsewhere, snippet
from wizard.kernel.errors import WizardError
from wizard.kernel.language import mark, tr
from wizard.kernel.text import one_line, plain
from wizard.plan.questions import Question
from wizard.serve.endpoint import Endpoint
from wizard.tui import background
from wizard.tui.chat_calls import Calls
from wizard.tui.keeping import Keeping
from wizard.tui.screens.form import FormScreen
from wizard.tui.screens.logprobs import LogprobsScreen
from wizard.tui.screens.modal import AskScreen, ReaderScreen
from wizard.tui.screens.stage import StageScreen
from wizard.tui.views.chat import ChatEnd
from wizard.tui.widgets.talk import Talk

NAME = Question("name", "text", mark("Name"), "", required=True, help=mark("Letters, digits, '_' and '-'."))
ALTERNATIVES = 5
"""Tokens beside the chosen one whose probabilities are asked for."""
GROUPS = (
    (mark("Role"), ("system",)),
    (mark("Which token comes next"), ("temperature", "top_p", "top_k", "min_p", "seed")),
    (mark("Repetition"), ("repetition_penalty", "presence_penalty", "frequency_penalty")),
    (mark("Where it ends"), ("max_tokens", "stop")),
)
"""All settings, as they stand together."""


class ChatWindows(StageScreen[ChatEnd]):
    """The part of the chat that asks in windows."""

    talk: Talk
    here: Talk
    """The one that is read: of two that are compared, the one that find, copy and save mean."""
    calls: Calls
    keeping: Keeping
    endpoint: Endpoint
    _files: dict[str, str]

    def tell(self, error: WizardError) -> None:
        """Say what went wrong; the chat goes on."""
        self.app.notify(f"{error.what}\n{error.todo}", title=error.code, severity="error", markup=False)

    @abstractmethod
    def change(self, conversation: Conversation) -> None:
        """Answer in another way from here on: settings, system prompt."""

    @work(exclusive=True, group="form")
    async def action_tune(self) -> None:
        """Change how the model answers."""
        view = self.talk.view
        known = {one.name: one for one in SETTINGS}
        if view.served and view.served.default_temperature is not None:
            own = tr("{value:g}, the model's own", value=view.served.default_temperature)
            known["temperature"] = replace(known["temperature"], otherwise=own)
        form = FormScreen(
            tr("How the model answers"),
            [known[name] for _heading, names in GROUPS for name in names],
            answers_of(view.conversation),
            self.guide.workshop.pin,
            {names[0]: tr(heading) for heading, names in GROUPS},
            dict.fromkeys(untaken(view.served) if view.served else (), tr("not with this server")),
        )
        answers = await self.app.push_screen_wait(form)
        if answers is not None:
            self._set(lambda: with_answers(view.conversation, {name: answers.get(name) for name in known}))

    def _set(self, made: Callable[[], Conversation]) -> bool:
        """Answer as ``made`` says, or say why that cannot be."""
        try:
            self.change(made())
        except WizardError as error:
            self.tell(error)
            return False
        return True

    @work(exclusive=True, group="form")
    async def action_presets(self) -> None:
        """Choose a system prompt with settings, or keep the present ones under a name."""
        try:
            found = await background.call(self.calls.presets)
        except WizardError as error:
            self.tell(error)
            return
        choices = [(one.name, ": ".join(filter(None, (one.name, one.about and tr(one.about))))) for one in found]
        choices.append(("+", tr("Keep the present system prompt and settings as a preset")))
        own = [one.name for one in found if one.own]
        if own:
            choices.append(("-", tr("Remove a preset of yours")))
        answer = await self.app.push_screen_wait(AskScreen(tr("How shall the model answer?"), choices))
        if answer == "+":
            await self._keep_preset()
        elif answer == "-":
            await self._remove_preset(own)
        elif answer is not None:
            self._take(next(one for one in found if one.name == answer))

    def _take(self, preset: Preset) -> None:
        if self._set(lambda: with_preset(self.talk.view.conversation, preset)):
            self.notify(tr("Answers are “{name}” from here on", name=preset.name), markup=False)

    async def _keep_preset(self) -> None:
        answers = await self.app.push_screen_wait(FormScreen(tr("Keep as a preset"), [NAME], {}))
        if not answers:
            return
        now = self.talk.view.conversation
        preset = preset_of(str(answers["name"]), now, one_line(now.system)[:60])
        try:
            path: Path = await background.call(partial(keep_preset, preset))
        except WizardError as error:
            self.tell(error)
        else:
            self.notify(tr("Saved to {path}", path=plain(str(path))), markup=False)

    async def _remove_preset(self, own: list[str]) -> None:
        name = await self.app.push_screen_wait(AskScreen(tr("Which one?"), [(one, one) for one in own]))
        if name is not None:
            try:
                await background.call(partial(remove, name))
            except WizardError as error:
                self.tell(error)

    @work(exclusive=True, group="form")
    async def action_save(self) -> None:
        """Write the conversation to a file; one that is there is written over only after a question."""
        talk = self.here
        name = self._files.get(talk.endpoint.name, file_name(talk.endpoint.name))
        answers = await self.app.push_screen_wait(FormScreen(tr("Save the conversation"), [FILE], {FILE.name: name}))
        if not answers:
            return
        name = self._files[talk.endpoint.name] = str(answers[FILE.name])
        path, there = target(name)
        if there:
            choices = [("keep", tr("Keep it")), ("overwrite", tr("Write over it"))]
            question = AskScreen(tr("{path} is there already. Write over it?", path=path), choices)
            if await self.app.push_screen_wait(question) != "overwrite":
                return
        saving = partial(save, path, talk.endpoint.model, talk.view.conversation, overwrite=there)
        try:
            await background.call(saving)
        except WizardError as error:
            self.tell(error)
        else:
            self.notify(tr("Saved to {path}", path=plain(str(path))), markup=False)

    def action_elsewhere(self) -> None:
        """Show how other programs reach this server: the last request as commands."""
        request = self.here.request
        text = elsewhere(self.here.endpoint, request)
        if request is not None:
            others = [f"# {kind}\n{snippet(request, kind)}" for kind in KINDS if kind != "curl"]
            text = "\n\n".join([text, *others])
        self.app.push_screen(ReaderScreen(tr("Use it from elsewhere"), text))

    def action_logprobs(self) -> None:
        """Show how probable the last answer's tokens were; ask for that from here on if nobody has."""
        if self.here.logprobs:
            self.app.push_screen(LogprobsScreen(self.here.logprobs))
        elif self.talk.view.conversation.sampling.logprobs is None:
            old = self.talk.view.conversation
            self.change(replace(old, sampling=replace(old.sampling, logprobs=ALTERNATIVES)))
            self.notify(tr("From the next answer on, the server is asked how probable each token was"))
        elif self.here.view.stats is None or not self.here.weighed:
            self.notify(tr("They come with the next answer"))
        else:
            self.notify(tr("This server says nothing of probabilities"), severity="warning")
