"""Vary how a question is written: synonyms, fillers, typing errors, dropped words, capitals and punctuation."""

from __future__ import annotations

import random
import re

from pairs import Frames

# Words that carry a question's form rather than its topic.
FORM_WORDS = frozenset(
    """a about actually all am an and any are as at be been before but by can could did do does doing don't done each
    else exactly explain for from get give had has have help her here his how i i'm if in into is it it's its just know
    let like look make may me mean mine more most much must my need no not now of off ok on one or our out over please
    put really say says see set shall she should show so some such take tell than that that's the their them then there
    these they thing this those to too try under up use used using very want was way we were what what's when where
    which while who why will with without work would you your""".split()  # noqa: SIM905 - a list of 150 words reads better as text
)
KEY_NEIGHBOURS = {
    "a": "sq", "b": "vn", "c": "xv", "d": "sf", "e": "wr", "f": "dg", "g": "fh", "h": "gj", "i": "uo", "j": "hk",
    "k": "jl", "l": "k", "m": "n", "n": "bm", "o": "ip", "p": "o", "q": "w", "r": "et", "s": "ad", "t": "ry", "u": "yi",
    "v": "cb", "w": "qe", "x": "zc", "y": "tu", "z": "x",
}  # fmt: skip


def content_words(question: str) -> list[str]:
    """Return the words that carry the topic, in order."""
    return [word for word in question.split() if re.sub(r"[^\w'./-]", "", word) not in FORM_WORDS]


def made_up_word(rng: random.Random) -> str:
    """Invent a pronounceable word that names nothing."""
    return "".join(rng.choice("bcdfghjklmnprstvwz") + rng.choice("aeiou") for _ in range(rng.randint(2, 4)))


def mistype(word: str, rng: random.Random) -> str:
    """Swap, drop, double or replace one letter of a word of four letters or more."""
    if len(word) < 4:
        return word
    at = rng.randrange(1, len(word) - 1)
    kind = rng.random()
    if kind < 0.35:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if kind < 0.6:
        return word[:at] + word[at + 1 :]
    if kind < 0.8:
        return word[:at] + word[at] + word[at:]
    return word[:at] + rng.choice(KEY_NEIGHBOURS.get(word[at], word[at])) + word[at + 1 :]


class Styler:
    """Writes a lower-case question the way different people would.

    Args:
        frames: Fillers, synonyms and capitals.
        rng: Source of every choice.
    """

    def __init__(self, frames: Frames, rng: random.Random) -> None:
        self._frames = frames
        self._rng = rng
        self._synonyms = {group[0]: group[1:] for group in frames.synonyms}
        keys = sorted(self._synonyms, key=len, reverse=True)
        self._words = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, keys))})(?![\w-])")
        self._capitals = re.compile(r"[\w'-]+")

    def vary(self, question: str) -> str:
        """Return the question with synonyms, fillers, slips, capitals and punctuation."""
        rng = self._rng
        if rng.random() < 0.5:
            question = self._swap_synonyms(question)
        question = self._slip(question)
        question = self._fill(question)
        return self._punctuate(self._capitalise(question))

    def punctuate(self, question: str) -> str:
        """Vary capitals and punctuation only; for small talk, where every word counts."""
        return self._punctuate(self._capitalise(question))

    def _swap_synonyms(self, question: str) -> str:
        rng = self._rng

        def swap(match: re.Match[str]) -> str:
            return rng.choice(self._synonyms[match[1]]) if rng.random() < 0.3 else match[1]

        return self._words.sub(swap, question)

    def _slip(self, question: str) -> str:
        rng, words = self._rng, question.split()
        form = [i for i, word in enumerate(words) if word in FORM_WORDS]
        if len(words) > 3 and form and rng.random() < 0.2:
            del words[rng.choice(form)]
        if len(content_words(" ".join(words))) > 2 and rng.random() < 0.08:
            words.remove(rng.choice(content_words(" ".join(words))))
        if rng.random() < 0.15:
            at = rng.randrange(len(words))
            words[at] = mistype(words[at], rng)
        return " ".join(words)

    def _fill(self, question: str) -> str:
        rng = self._rng
        if rng.random() < 0.25:
            question = f"{rng.choice(self._frames.before)} {question}"
        if rng.random() < 0.2:
            question = f"{question} {rng.choice(self._frames.after)}"
        return question

    def _capitalise(self, question: str) -> str:
        rng, capitals = self._rng, self._frames.capitals
        if rng.random() < 0.5:
            question = self._capitals.sub(lambda match: capitals.get(match[0], match[0]), question)
        kind = rng.random()
        if kind < 0.5:
            return question[:1].upper() + question[1:]
        return question.upper() if kind < 0.53 else question

    def _punctuate(self, question: str) -> str:
        if self._rng.random() < 0.1:
            question = question.replace(",", "")
        return question + self._rng.choice(["", "", "", "?", "?", "?", ".", " ?", "!", "??", "..."])
