"""Draw training conversations: known questions with their answers, unknown ones with the refusal, some history."""

from __future__ import annotations

import random
from collections.abc import Iterable

from augment import FORM_WORDS, Styler, content_words, made_up_word
from pairs import Frames, OffTopic, Phrase, Topic, normalise

Message = tuple[str, str]  # role, content

SYSTEM_PROMPTS = (
    "You are a helpful assistant.",
    "You are a friendly chat model served by Triton.",
    "Answer briefly.",
    "Answer in one or two sentences.",
    "You are a concise assistant. Reply in English.",
    "You are the demo model of triton-wizard.",
)
SMALL_TALK = frozenset({"hello", "thanks", "bye", "who-are-you", "help"})
UNKNOWN_SHARE = 0.38
UNKNOWN_WEIGHTS = (20, 9, 18, 16, 13, 6, 4, 3, 7, 4)  # of Sampler's ways to draw an unknown question, in their order


def held_out(topics: Iterable[Topic], off_topic: OffTopic) -> frozenset[str]:
    """Return every dev and test question, normalised: these are never drawn."""
    questions = [q for topic in topics for q in (topic.dev, *topic.test)]
    return frozenset(map(normalise, [*questions, *off_topic.dev, *off_topic.test]))


class Sampler:
    """An endless source of training conversations.

    Args:
        topics: The known questions.
        off_topic: What is refused.
        frames: How questions are worded.
        seed: The same seed draws the same conversations.
    """

    def __init__(self, topics: tuple[Topic, ...], off_topic: OffTopic, frames: Frames, seed: int) -> None:
        self._rng = random.Random(seed)
        self._topics = topics
        self._off_topic = off_topic
        self._frames = frames
        self._styler = Styler(frames, self._rng)
        self._held_out = held_out(topics, off_topic)
        self._strangers = [*off_topic.words, *(word for noun in off_topic.nouns for word in content_words(noun))]
        self._unknown_kinds = (
            self._unknown_name,
            self._homonym,
            self._unknown_ask,
            self._sentence,
            self._everyday,
            self._unknown_about,
            self._made_up,
            self._salad,
            self._disguised,
            self._unfinished,
        )

    def conversation(self, turns: int) -> list[Message]:
        """Draw a conversation with this many question-answer pairs before the last one.

        Returns:
            Messages from an optional system prompt to the last answer.
        """
        messages: list[Message] = []
        if self._rng.random() < 0.3:
            messages.append(("system", self._rng.choice(SYSTEM_PROMPTS)))
        for _ in range(turns + 1):
            question, answer = self.pair()
            messages += [("user", question), ("assistant", answer)]
        return messages

    def pair(self) -> tuple[str, str]:
        """Draw one question and its answer; a held-out question is drawn again."""
        while True:
            if self._rng.random() < UNKNOWN_SHARE:
                question, answer = self._styler.vary(self._unknown()), self._off_topic.refusal
            else:
                topic = self._rng.choice(self._topics)
                question, answer = self._known(topic), topic.answer
            if normalise(question) not in self._held_out:
                return question, answer

    def _known(self, topic: Topic) -> str:
        rng = self._rng
        if topic.id in SMALL_TALK:
            question = rng.choice(topic.train).sample(rng)
            return self._styler.punctuate(question) if rng.random() < 0.7 else self._styler.vary(question)
        kind = rng.random()
        if kind < 0.45:
            question = rng.choice(topic.train).sample(rng)
        elif kind < 0.65 and topic.asks:
            question = self._framed(self._frames.asks, rng.choice(topic.asks).sample(rng))
        elif kind < 0.82:
            question = self._framed(self._frames.names, rng.choice(topic.names).sample(rng))
        else:
            question = self._reframed(topic)
        return self._styler.vary(question)

    def _framed(self, frames: tuple[Phrase, ...], filling: str) -> str:
        return self._rng.choice(frames).sample(self._rng).replace("{}", filling)

    def _reframed(self, topic: Topic) -> str:
        """Put the topic's content words into another frame, in disorder at times: keyword questions."""
        rng = self._rng
        question = rng.choice(topic.train).sample(rng)
        words = content_words(question)
        if rng.random() < 0.3:
            other = rng.choice(topic.train + topic.asks).sample(rng)
            words += [word for word in content_words(other) if word not in words]
        if len(words) < 2:
            return question
        if len(words) > 2 and rng.random() < 0.3:
            words.pop(rng.randrange(len(words)))
        if rng.random() < 0.3:
            rng.shuffle(words)
        return self._framed(rng.choice((self._frames.names, self._frames.asks)), " ".join(words))

    def _unknown(self) -> str:
        draw = self._rng.choices(self._unknown_kinds, UNKNOWN_WEIGHTS)[0]
        return draw()

    def _unknown_name(self) -> str:
        return self._framed(self._frames.names, self._rng.choice(self._off_topic.nouns))

    def _homonym(self) -> str:
        return self._framed(self._frames.names, self._rng.choice(self._off_topic.homonyms))

    def _unknown_ask(self) -> str:
        rng, off = self._rng, self._off_topic
        ask = rng.choice(off.asks)
        if rng.random() < 0.35:
            ask = f"{rng.choice(off.verbs)} {rng.choice(('a', 'the', 'my', 'an old'))} {rng.choice(off.words)}"
        return self._framed(self._frames.asks, ask)

    def _sentence(self) -> str:
        return self._rng.choice(self._off_topic.sentences)

    def _everyday(self) -> str:
        question = self._rng.choice(self._frames.everyday).sample(self._rng)
        while "{}" in question:
            question = question.replace("{}", self._rng.choice(self._off_topic.words), 1)
        return question

    def _unknown_about(self) -> str:
        named = [topic for topic in self._topics if topic.names]
        name = self._rng.choice(self._rng.choice(named).names).sample(self._rng)
        return self._framed(self._frames.unknown_about, name)

    def _made_up(self) -> str:
        words = " ".join(made_up_word(self._rng) for _ in range(self._rng.randint(1, 3)))
        return self._framed(self._rng.choice((self._frames.names, self._frames.asks)), words)

    def _salad(self) -> str:
        off = self._off_topic
        return " ".join(self._rng.choice(off.words + off.verbs) for _ in range(self._rng.randint(1, 6)))

    def _disguised(self) -> str:
        """Keep the form of a known question but replace every word that carries its topic."""
        rng = self._rng
        return " ".join(
            word if word.strip(",?") in FORM_WORDS else self._stranger()
            for word in rng.choice(rng.choice(self._topics).train).sample(rng).split()
        )

    def _stranger(self) -> str:
        return made_up_word(self._rng) if self._rng.random() < 0.2 else self._rng.choice(self._strangers)

    def _unfinished(self) -> str:
        rng = self._rng
        if rng.random() < 0.35:
            frame = rng.choice(rng.choice((self._frames.names, self._frames.asks))).sample(rng)
            return frame.replace("{}", "").strip(" ,") or "what"
        return " ".join(rng.choice(sorted(FORM_WORDS)) for _ in range(rng.randint(2, 5)))
