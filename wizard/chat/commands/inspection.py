"""Chat commands for inspection: presets, context, log probabilities, the last request, the clipboard."""

from __future__ import annotations

import base64
import math
import re
import sys

from wizard.catalog import presets
from wizard.chat import report
from wizard.chat import snippet as snippets
from wizard.chat.commands.conversations import number
from wizard.chat.commands.session import ChatSession, Outcome
from wizard.chat.conversation import excerpt
from wizard.chat.settings import preset_of, with_answers, with_preset, with_thinking
from wizard.kernel import clipboard
from wizard.kernel.errors import UsageError
from wizard.kernel.language import ntr, tr
from wizard.kernel.text import is_terminal, plain

_FENCE = re.compile(r"^```[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
MOST_ALTERNATIVES = 20
LARGEST_EXPONENT = 700
"""Servers write -3.4e38 and the like for an impossible token; this limits the digits."""


def preset(talk: ChatSession, argument: str) -> Outcome:
    """List presets, use one, or save or remove one of the user's own."""
    word, _, name = argument.partition(" ")
    name = name.strip()
    if word == "save" and name:
        path = presets.save(preset_of(name, talk.conversation))
        return Outcome(tr("Saved to {path}", path=path))
    if word == "remove" and name:
        presets.remove(name)
        return Outcome(tr("The preset was removed."))
    if argument:
        talk.conversation = with_preset(talk.conversation, presets.preset(argument))
        return Outcome(tr("The preset is active; use /set and /system to view or change its settings."))
    rows = [(preset.name, tr(preset.about) if preset.about else tr("your own")) for preset in presets.presets()]
    return Outcome(
        f"{talk.listed(rows)}\n{tr('Use one with /preset NAME; save the current settings with /preset save NAME.')}"
    )


def context(talk: ChatSession, argument: str) -> Outcome:
    """Tokens of the conversation, and the model's context."""
    del argument
    usage = talk.measure().usage(talk.conversation)
    share = f" ({100 * usage.share:.0f} %)" if usage.share is not None else ""
    if usage.context is None:
        text = ntr("{count:,} token", "{count:,} tokens", usage.tokens, count=usage.tokens)
    else:
        text = tr("{tokens:,} of {context:,} tokens{share}", tokens=usage.tokens, context=usage.context, share=share)
    how = tr("counted by the model's tokenizer") if usage.counted else tr("estimated; no tokenizer on this machine")
    return Outcome(f"{text}: {how}")


def details(talk: ChatSession, argument: str) -> Outcome:
    """Who wrote each message and when, with the answers' measurements."""
    del argument
    lines = [f"{report.about(each)}\n  {excerpt(each.content)}" for each in talk.conversation.messages]
    return Outcome("\n".join(lines) or tr("No messages yet; ask something."))


def logprobs(talk: ChatSession, argument: str) -> Outcome:
    """Turn log probabilities on or off, or show those of the last answer."""
    if argument == "off":
        talk.conversation = with_answers(talk.conversation, {"logprobs": None})
        return Outcome(tr("Token probabilities are no longer requested."))
    if argument or talk.conversation.sampling.logprobs is None:
        most = talk.served().logprobs
        if most is None:
            raise UsageError(
                "TW-U24",
                tr("this model does not provide token probabilities"),
                tr("Use a model served by vLLM, llama.cpp or an OpenAI-compatible API."),
            )
        wrong = tr("invalid value: {text}", text=argument[:20])
        count = number(argument or "3", MOST_ALTERNATIVES, wrong, least=0)
        talk.conversation = with_answers(talk.conversation, {"logprobs": min(count, most)})
        return Outcome(tr("From the next answer on, token probabilities are included; type /logprobs to show them."))
    if not talk.logprobs:
        return Outcome(tr("No answer with token probabilities yet; ask something, or type /again."))
    rows = [
        (
            _percent(logprob.logprob),
            _token(logprob.text),
            "  ".join(f"{_token(text)} {_percent(value)}" for text, value in logprob.top),
        )
        for logprob in talk.logprobs
    ]
    mean = -sum(logprob.logprob for logprob in talk.logprobs) / len(talk.logprobs)
    perplexity = tr("Perplexity of the answer: {value:.2f}", value=math.exp(min(mean, LARGEST_EXPONENT)))
    return Outcome(f"{talk.listed(rows)}\n{perplexity}")


def snippet(talk: ChatSession, argument: str) -> Outcome:
    """The last request as a command or a program."""
    kind = next((kind for kind in snippets.KINDS if kind == (argument or "curl")), None)
    if kind is None:
        raise UsageError(
            "TW-U24",
            tr("unknown snippet: {text}", text=argument[:20]),
            tr("Use one of: {kinds}.", kinds=", ".join(snippets.KINDS)),
        )
    if talk.request is None:
        raise UsageError("TW-U24", tr("no question yet"), tr("Ask a question first."))
    return Outcome(data=snippets.snippet(talk.request, kind))


def think(talk: ChatSession, argument: str) -> Outcome:
    """Set how much the model thinks, or show its last thought."""
    if not argument:
        thought = _last_thought(talk) or tr("No thought yet. Only thinking models have thoughts; ask one a question.")
        return Outcome(plain(thought))
    talk.conversation = with_thinking(talk.conversation, talk.served(), argument)
    return Outcome(tr("Thinking: {mode}, starting with the next answer.", mode=argument))


def _last_thought(talk: ChatSession) -> str:
    """Empty if there is none."""
    return next((each.thought for each in reversed(talk.conversation.messages) if each.thought), "")


def copy(talk: ChatSession, argument: str) -> Outcome:
    """Copy the last answer, or its last code block, to the terminal's clipboard (xterm's control sequence OSC 52)."""
    if argument not in ("", "code", "thought"):
        todo = tr("Type /copy, /copy code or /copy thought.")
        raise UsageError("TW-U24", tr("cannot copy {text}", text=plain(argument)[:20]), todo)
    if argument == "thought":
        answers = [_last_thought(talk)]
        if not answers[0]:
            todo = tr("Only thinking models have thoughts: ask one a question.")
            raise UsageError("TW-U24", tr("no thought yet"), todo)
    else:
        answers = [each.content for each in talk.conversation.messages if each.role == "assistant"]
    blocks = _FENCE.findall(answers[-1]) if answers else []
    if argument == "code" and not blocks:
        raise UsageError("TW-U24", tr("the last answer has no code block"), tr("/copy copies the whole answer."))
    if not answers:
        raise UsageError("TW-U24", tr("no answer yet"), tr("Ask a question first."))
    if clipboard.missing() or not is_terminal(sys.stderr):
        raise UsageError(
            "TW-U24", tr("this terminal has no clipboard support"), tr("Save the chat to a file with /save FILE.")
        )
    text = str(blocks[-1]) if argument == "code" else answers[-1]
    if clipboard.in_tmux() and clipboard.tmux_takes(text):
        taken = ntr("{count:,} character copied.", "{count:,} characters copied.", len(text), count=len(text))
        return Outcome(taken)
    raw = f"\x1b]52;c;{base64.b64encode(text.encode(errors='replace')).decode()}\x07"
    sent = ntr(
        "{count:,} character sent to the clipboard (requires a terminal with OSC 52 support).",
        "{count:,} characters sent to the clipboard (requires a terminal with OSC 52 support).",
        len(text),
        count=len(text),
    )
    return Outcome(sent, raw=raw)


def _percent(logprob: float) -> str:
    return f"{100 * math.exp(logprob):.1f} %"


def _token(text: str) -> str:
    """A token with visible spaces and line ends."""
    return repr(text)
