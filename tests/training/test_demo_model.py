"""The shipped demo model: its size, its data's honesty, and that its figures belong to its files."""

import hashlib
import json
import struct
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TRAINING = ROOT / "training"
FOLDER = ROOT / "profiles" / "models" / "triton-wizard-demo"
GGUF = FOLDER / "triton-wizard-demo-q8_0.gguf"

if str(TRAINING) not in sys.path:
    sys.path.insert(0, str(TRAINING))

from pairs import load_frames, load_off_topic, load_topics, normalise, offered_questions  # noqa: E402
from sampler import Sampler, held_out  # noqa: E402


@cache
def evaluation():
    return json.loads((FOLDER / "evaluation.json").read_text(encoding="utf-8"))


@cache
def gate():
    return json.loads((FOLDER / "gate.json").read_text(encoding="utf-8"))


@cache
def tensors():
    with (FOLDER / "model.safetensors").open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    return header


class TestFiles:
    def test_all_files_together_are_at_most_16_mb(self):
        assert sum(path.stat().st_size for path in FOLDER.iterdir()) <= 16_000_000

    def test_config_is_a_llama_that_older_readers_load_too(self):
        config = json.loads((FOLDER / "config.json").read_text(encoding="utf-8"))
        assert config["architectures"] == ["LlamaForCausalLM"]
        assert config["rope_theta"] == config["rope_parameters"]["rope_theta"] == 10000.0
        assert config["head_dim"] == 64

    def test_weights_are_half_precision_and_a_few_million(self):
        assert {tensor["dtype"] for tensor in tensors().values()} == {"F16"}
        sizes = [tensor["data_offsets"][1] - tensor["data_offsets"][0] for tensor in tensors().values()]
        assert 3_000_000 <= sum(sizes) // 2 <= 5_000_000

    def test_gguf_starts_with_its_magic_and_carries_the_template(self):
        head = GGUF.read_bytes()[:200_000]
        assert head[:4] == b"GGUF"
        assert struct.unpack("<I", head[4:8]) == (3,)
        assert (FOLDER / "chat_template.jinja").read_bytes() in head

    def test_the_chat_template_is_the_same_everywhere(self):
        settings = json.loads((FOLDER / "tokenizer_config.json").read_text(encoding="utf-8"))
        assert settings["chat_template"] == (FOLDER / "chat_template.jinja").read_text(encoding="utf-8")
        assert settings["eos_token"] == "<|im_end|>"
        assert settings["add_bos_token"] is False


class TestData:
    def test_every_topic_is_complete(self):
        topics = load_topics()
        assert len({topic.id for topic in topics}) == len(topics) >= 70
        for topic in topics:
            assert 10 <= len(topic.train) <= 14, topic.id
            assert len(topic.test) == 2, topic.id
            assert len(topic.answer.split()) <= 45, topic.id

    def test_there_are_enough_held_out_questions(self):
        off_topic = load_off_topic()
        assert sum(len(topic.test) for topic in load_topics()) >= 120
        assert len(off_topic.test) >= 60
        assert len(off_topic.dev) >= 60

    def test_no_training_phrasing_can_spell_a_held_out_question(self):
        questions = [q for topic in load_topics() for q in (topic.dev, *topic.test)]
        spelt = [
            (phrase.text, question)
            for topic in load_topics()
            for phrase in topic.train
            for question in questions
            if phrase.matches(question)
        ]
        assert spelt == []

    def test_held_out_questions_are_distinct_and_no_off_topic_sentence_is_one(self):
        topics, off_topic = load_topics(), load_off_topic()
        total = sum(1 + len(topic.test) for topic in topics) + len(off_topic.dev) + len(off_topic.test)
        assert len(held_out(topics, off_topic)) == total
        drawn = [*off_topic.sentences, *off_topic.nouns, *off_topic.asks]
        assert not held_out(topics, off_topic) & set(map(normalise, drawn))

    def test_training_never_draws_a_held_out_question(self):
        topics, off_topic = load_topics(), load_off_topic()
        sampler = Sampler(topics, off_topic, load_frames(), seed=7)
        kept = held_out(topics, off_topic)
        assert not any(normalise(sampler.pair()[0]) in kept for _ in range(5000))

    def test_the_same_seed_draws_the_same_conversations(self):
        first, second = (Sampler(load_topics(), load_off_topic(), load_frames(), seed=3) for _ in range(2))
        assert [first.conversation(2) for _ in range(50)] == [second.conversation(2) for _ in range(50)]

    def test_every_offered_question_is_trained(self):
        offered = json.loads((FOLDER / "questions.json").read_text(encoding="utf-8"))
        assert offered == offered_questions(load_topics())
        assert "What is Triton?" in offered
        by_question = {topic.question: topic for topic in load_topics()}
        for question in offered:
            assert question[0].isupper() or question.startswith("trtllm"), question
            assert any(phrase.matches(question) for phrase in by_question[question].train), question


class TestFigures:
    @pytest.mark.parametrize("name", [GGUF.name, "model.safetensors", "gate.json"])
    def test_figures_belong_to_the_shipped_files(self, name):
        assert evaluation()["sha256"][name] == hashlib.sha256((FOLDER / name).read_bytes()).hexdigest()

    @pytest.mark.parametrize("name", ["questions.toml", "offtopic.toml", "frames.toml"])
    def test_figures_belong_to_the_data(self, name):
        assert evaluation()["sha256"][name] == hashlib.sha256((TRAINING / name).read_bytes()).hexdigest()

    def test_the_gate_is_the_one_measured(self):
        assert gate()["min_token_probability"] == evaluation()["min_token_probability"]
        assert gate()["refusal"] == load_off_topic().refusal

    def test_paraphrases_are_answered_and_unknown_questions_refused(self):
        figures = evaluation()["with_gate"]
        assert figures["offered"]["right"] == 1.0
        assert figures["test"]["questions"] >= 120
        assert figures["test"]["right"] >= 0.80
        assert figures["test"]["wrong"] <= 0.05
        assert figures["unknown test"]["wrong"] <= 0.05

    @pytest.mark.parametrize("part", ["with_gate", "without_gate"])
    @pytest.mark.parametrize("name", ["offered", "trained", "dev", "test", "unknown dev", "unknown test"])
    def test_the_card_says_what_was_measured(self, part, name):
        card = (FOLDER / "README.md").read_text(encoding="utf-8")
        row = next(line for line in card.splitlines() if line.startswith(f"| {name} |"))
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        figures = evaluation()[part][name]
        at = 2 if part == "with_gate" else 5
        expected = [f"{figures[key]:.1%}" for key in ("right", "wrong", "refused")]
        assert cells[1] == str(figures["questions"])
        assert cells[at : at + 3] == expected

    def test_the_card_gives_the_gate_and_the_worst_style(self):
        card = (FOLDER / "README.md").read_text(encoding="utf-8")
        assert f"`min_token_probability` {gate()['min_token_probability']}" in card
        styles = evaluation()["styles_with_gate"]
        assert f"{max(style['wrong'] for style in styles['unknown test'].values()):.1%}" in card
        assert f"{min(style['right'] for style in styles['test'].values()):.1%}" in card
