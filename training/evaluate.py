"""Measure the shipped demo model through the engine that serves it, with and without the confidence gate.

Usage::

    python training/evaluate.py --choose-gate     # dev questions only; writes gate.json
    python training/evaluate.py                   # every set, with the gate as it is; writes evaluation.json

An answer counts as right only if the text shown equals the topic's answer, character for character.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from engine import Answer, Engine
from pairs import HERE, Frames, Phrase, Topic, load_frames, load_off_topic, load_topics
from sampler import SYSTEM_PROMPTS

FOLDER = HERE.parent / "profiles" / "models" / "triton-wizard-demo"
GGUF = "triton-wizard-demo-q8_0.gguf"
MOST_WRONG, MOST_UNKNOWN = 0.01, 0.015  # what the gate may let through on dev; stricter than the 0.05 asked of test

Style = Callable[[str, random.Random], list[dict[str, str]]]


@dataclass(frozen=True, slots=True)
class Case:
    """A question and the text that must be shown."""

    question: str
    expected: str


def user(question: str) -> dict[str, str]:
    """Make a user message."""
    return {"role": "user", "content": question}


def with_history(question: str, rng: random.Random, turns: int) -> list[dict[str, str]]:
    """Put trained questions with their answers before the question."""
    messages: list[dict[str, str]] = []
    for topic in rng.sample(load_topics(), turns):
        messages += [user(topic.question), {"role": "assistant", "content": topic.answer}]
    return [*messages, user(question)]


STYLES: dict[str, Style] = {
    "as written": lambda question, _: [user(question)],
    "lower case, no question mark": lambda question, _: [user(question.lower().rstrip("?. "))],
    "capitalised, question mark": lambda question, _: [user(question[:1].upper() + question[1:].rstrip("?. ") + "?")],
    "system prompt": lambda question, rng: [
        {"role": "system", "content": rng.choice(SYSTEM_PROMPTS)},
        user(question),
    ],
    "after one turn": lambda question, rng: with_history(question, rng, 1),
    "after three turns": lambda question, rng: with_history(question, rng, 3),
}


def from_grammar(topic: Topic, question: str, frames: Frames) -> bool:
    """Tell whether the topic's phrases in the frames could spell this question (training skips it all the same)."""
    framed = [(frames.names, topic.names), (frames.asks, topic.asks)]
    texts = [frame.text.replace("{}", part.text) for outer, inner in framed for frame in outer for part in inner]
    return any(phrase.matches(question) for phrase in [*topic.train, *map(Phrase, texts)])


def load_sets() -> dict[str, list[Case]]:
    """Return every set of questions by name."""
    topics, off_topic, frames = load_topics(), load_off_topic(), load_frames()
    test = [(topic, question) for topic in topics for question in topic.test]
    return {
        "offered": [Case(topic.question, topic.answer) for topic in topics],
        "trained": [Case(phrase.first(), topic.answer) for topic in topics for phrase in topic.train],
        "dev": [Case(topic.dev, topic.answer) for topic in topics],
        "unknown dev": [Case(question, off_topic.refusal) for question in off_topic.dev],
        "test": [Case(question, topic.answer) for topic, question in test],
        "test, wording outside the training grammar": [
            Case(question, topic.answer) for topic, question in test if not from_grammar(topic, question, frames)
        ],
        "unknown test": [Case(question, off_topic.refusal) for question in off_topic.test],
    }


def ask_all(engine: Engine, cases: list[Case], style: Style) -> list[Answer]:
    """Answer every question in one style."""
    rng = random.Random(0)
    return [engine.ask(style(case.question, rng)) for case in cases]


def interval(part: int, whole: int) -> list[float]:
    """Return the Wilson 95 % interval of a share."""
    z, share = 1.96, part / whole
    middle = (share + z * z / (2 * whole)) / (1 + z * z / whole)
    half = z * math.sqrt(share * (1 - share) / whole + z * z / (4 * whole * whole)) / (1 + z * z / whole)
    return [round(middle - half, 4), round(middle + half, 4)]


def score(cases: list[Case], answers: list[Answer], threshold: float, refusal: str) -> dict[str, Any]:
    """Count what a user sees with this threshold.

    Returns:
        Number of questions, and the shares right, wrong (another answer shown) and refused; for an unknown question
        the refusal is right.
    """
    shown = [answer.shown(threshold, refusal) for answer in answers]
    right = sum(text == case.expected for text, case in zip(shown, cases, strict=True))
    refused = sum(text == refusal for text in shown)
    wrong = sum(text not in (case.expected, refusal) for text, case in zip(shown, cases, strict=True))
    count = len(cases)
    return {
        "questions": count,
        "right": round(right / count, 4),
        "right_95": interval(right, count),
        "wrong": round(wrong / count, 4),
        "refused": round(refused / count, 4),
    }


def failures(cases: list[Case], answers: list[Answer], threshold: float, refusal: str) -> list[str]:
    """Describe each question that is not answered as it should be."""
    lines = []
    for case, answer in zip(cases, answers, strict=True):
        shown = answer.shown(threshold, refusal)
        if shown != case.expected:
            seen = "refused" if shown == refusal else shown[:60]
            lines.append(f"{case.question} -> {seen} (model: {answer.text[:40]}, {answer.lowest:.2f})")
    return lines


def choose_gate(engine: Engine, refusal: str) -> float:
    """Find the smallest threshold that keeps wrong and unknown answers below their limits on dev, over all styles."""
    sets = load_sets()
    known = [(sets["dev"], ask_all(engine, sets["dev"], style)) for style in STYLES.values()]
    unknown = [(sets["unknown dev"], ask_all(engine, sets["unknown dev"], style)) for style in STYLES.values()]

    def mean(pairs: list[tuple[list[Case], list[Answer]]], threshold: float, measure: str) -> float:
        return sum(float(score(*pair, threshold, refusal)[measure]) for pair in pairs) / len(pairs)

    for step in range(6, 20):
        threshold = step / 20
        wrong, answered = mean(known, threshold, "wrong"), mean(unknown, threshold, "wrong")
        right = mean(known, threshold, "right")
        print(f"gate {threshold:.2f}: right {right:.3f}, wrong {wrong:.3f}, unknown answered {answered:.3f}")
        if wrong <= MOST_WRONG and answered <= MOST_UNKNOWN:
            return threshold
    return 0.95


def sha256(path: Path) -> str:
    """Hash a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def evaluate(engine: Engine, folder: Path, threshold: float, refusal: str) -> dict[str, Any]:
    """Measure every set and describe what was measured with what."""
    files = [folder / GGUF, folder / "model.safetensors", folder / "gate.json"]
    data = [HERE / "questions.toml", HERE / "offtopic.toml", HERE / "frames.toml"]
    report: dict[str, Any] = {
        "command": "python training/evaluate.py",
        "date": date.today().isoformat(),
        "engine": f"xllamacpp {version('xllamacpp')}",
        "min_token_probability": threshold,
        "sha256": {path.name: sha256(path) for path in [*files, *data]},
        "with_gate": {},
        "without_gate": {},
        "styles_with_gate": {},
        "not_right_with_gate": {},
    }
    for name, cases in load_sets().items():
        answers = ask_all(engine, cases, STYLES["as written"])
        report["with_gate"][name] = score(cases, answers, threshold, refusal)
        report["without_gate"][name] = score(cases, answers, 0.0, refusal)
        if name in ("offered", "dev", "unknown dev", "test", "unknown test"):
            report["not_right_with_gate"][name] = failures(cases, answers, threshold, refusal)
        if name in ("dev", "unknown dev", "test", "unknown test"):
            styled = {style: ask_all(engine, cases, STYLES[style]) for style in list(STYLES)[1:]}
            report["styles_with_gate"][name] = {
                style: score(cases, given, threshold, refusal) for style, given in styled.items()
            }
    return report


def main() -> None:
    """Choose the gate, or measure and write evaluation.json."""
    parser = argparse.ArgumentParser(description="Measure the demo model through llama.cpp.")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="the model's folder")
    parser.add_argument("--choose-gate", action="store_true", help="choose the threshold on dev and write gate.json")
    options = parser.parse_args()
    engine = Engine(options.folder / GGUF)
    refusal = load_off_topic().refusal
    gate_file = options.folder / "gate.json"
    if options.choose_gate:
        gate = {"min_token_probability": choose_gate(engine, refusal), "refusal": refusal}
        gate_file.write_text(json.dumps(gate, indent=2) + "\n", encoding="utf-8")
        print(gate_file.read_text(encoding="utf-8"))
        return
    threshold = json.loads(gate_file.read_text(encoding="utf-8"))["min_token_probability"]
    report = evaluate(engine, options.folder, threshold, refusal)
    (options.folder / "evaluation.json").write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    for name, figures in report["with_gate"].items():
        bare = report["without_gate"][name]
        print(
            f"{name}: right {figures['right']:.1%}, wrong {figures['wrong']:.1%}, refused {figures['refused']:.1%}; "
            f"without the gate right {bare['right']:.1%}, wrong {bare['wrong']:.1%}"
        )


if __name__ == "__main__":
    main()
