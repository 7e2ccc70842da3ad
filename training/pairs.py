"""Read the question-answer data: topics, off-topic questions and frames, with their (a|b) notation."""

from __future__ import annotations

import random
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
OFF_TOPIC_LISTS = ("nouns", "asks", "sentences", "words", "verbs", "homonyms", "dev", "test")
CHOICE = re.compile(r"\(([^()]*)\)")


def normalise(question: str) -> str:
    """Reduce a question to lower-case words, so that two spellings of one question compare equal."""
    return " ".join(re.sub(r"[^a-z0-9./_+-]+", " ", question.lower().replace("'", "")).rstrip(" .").split())


def squeeze(text: str) -> str:
    """Normalise a text and remove every space, so that phrases compare whatever their spacing is."""
    return normalise(text).replace(" ", "")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A phrase with choices, for example ``how (do|can) i stop (it|the server)``; choices may be nested.

    Attributes:
        text: The phrase in the notation of questions.toml.
    """

    text: str

    def __post_init__(self) -> None:
        """Check the brackets.

        Raises:
            ValueError: A bracket has no partner.
        """
        rest, count = self.text, 1
        while count:
            rest, count = CHOICE.subn("", rest)
        if "(" in rest or ")" in rest or "|" in rest:
            raise ValueError(f"unpaired bracket or stray bar in {self.text!r}")

    def sample(self, rng: random.Random) -> str:
        """Return the phrase with every choice made at random."""
        text, count = self.text, 1
        while count:
            text, count = CHOICE.subn(lambda match: rng.choice(match[1].split("|")), text)
        return " ".join(text.split())

    def first(self) -> str:
        """Return the phrase with the first alternative of every choice."""
        text, count = self.text, 1
        while count:
            text, count = CHOICE.subn(lambda match: match[1].split("|")[0], text)
        return " ".join(text.split())

    def matches(self, question: str) -> bool:
        """Tell whether some choice of alternatives gives ``question``, both normalised and without spaces."""
        brackets = {"(": "(?:", ")": ")", "|": "|"}
        parts = re.split(r"([()|])", self.text)
        pattern = "".join(brackets.get(part) or re.escape(squeeze(part)) for part in parts)
        return re.fullmatch(pattern, squeeze(question)) is not None


def phrases(texts: list[str]) -> tuple[Phrase, ...]:
    """Parse a list of phrases."""
    return tuple(Phrase(text) for text in texts)


@dataclass(frozen=True, slots=True)
class Topic:
    """One answer with its questions; the fields are described at the top of questions.toml."""

    id: str
    question: str
    answer: str
    names: tuple[Phrase, ...]
    asks: tuple[Phrase, ...]
    train: tuple[Phrase, ...]
    dev: str
    test: tuple[str, ...]

    @classmethod
    def read(cls, entry: dict[str, Any]) -> Topic:
        """Build a topic from its TOML table."""
        return cls(
            id=entry["id"],
            question=entry["question"],
            answer=entry["answer"],
            names=phrases(entry["names"]),
            asks=phrases(entry["asks"]),
            train=phrases(entry["train"]),
            dev=entry["dev"],
            test=tuple(entry["test"]),
        )


@dataclass(frozen=True, slots=True)
class OffTopic:
    """What must be refused; the fields are described at the top of offtopic.toml."""

    refusal: str
    nouns: tuple[str, ...]
    asks: tuple[str, ...]
    sentences: tuple[str, ...]
    words: tuple[str, ...]
    verbs: tuple[str, ...]
    homonyms: tuple[str, ...]
    dev: tuple[str, ...]
    test: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Frames:
    """How a topic is wrapped into a question; the fields are described in frames.toml."""

    names: tuple[Phrase, ...]
    asks: tuple[Phrase, ...]
    unknown_about: tuple[Phrase, ...]
    everyday: tuple[Phrase, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    synonyms: tuple[tuple[str, ...], ...]
    capitals: dict[str, str]


def load_topics(path: Path = HERE / "questions.toml") -> tuple[Topic, ...]:
    """Read every topic, in file order."""
    return tuple(Topic.read(entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["topic"])


def offered_questions(topics: tuple[Topic, ...]) -> list[str]:
    """Return the canonical questions that the chat offers: one per topic, small talk such as "Hello" left out."""
    return [topic.question for topic in topics if topic.question.endswith("?")]


def load_off_topic(path: Path = HERE / "offtopic.toml") -> OffTopic:
    """Read the off-topic questions."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    lists = {name: tuple(data[name]) for name in OFF_TOPIC_LISTS}
    return OffTopic(refusal=data["refusal"], **lists)


def load_frames(path: Path = HERE / "frames.toml") -> Frames:
    """Read frames, fillers, synonyms and capitals."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return Frames(
        names=phrases(data["names"]),
        asks=phrases(data["asks"]),
        unknown_about=phrases(data["unknown_about"]),
        everyday=phrases(data["everyday"]),
        before=tuple(data["before"]),
        after=tuple(data["after"]),
        synonyms=tuple(tuple(group) for group in data["synonyms"]),
        capitals=data["capitals"],
    )
