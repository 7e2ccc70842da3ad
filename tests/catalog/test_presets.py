"""Presets: shipped ones that fit, and the user's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from wizard.catalog.presets import Preset, preset, presets, remove, save
from wizard.chat.conversation import Conversation, Sampling
from wizard.chat.settings import SETTINGS, answers_of, preset_of, with_answers, with_preset
from wizard.kernel.errors import UsageError

TALK = Conversation(sampling=Sampling(top_k=5, stop=("END", "a\nb"), seed=3)).with_system('Say "no".\nAlways.')


def refused(act: object) -> str:
    with pytest.raises(UsageError) as raised:
        act()  # type: ignore[operator]
    return raised.value.code


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "triton-wizard" / "profiles" / "presets"


def test_every_shipped_preset_can_be_taken() -> None:
    shipped = presets()
    assert {"precise", "creative", "code", "teacher"} <= {preset.name for preset in shipped}
    for entry in shipped:
        assert not entry.own
        assert entry.about
        talk = with_preset(Conversation().with_message("user", "Why?"), entry)
        assert talk.system == entry.system
        assert talk.messages[-1].content == "Why?"
        talk.sampling.check()


def test_a_user_preset_is_saved_listed_and_removed(config: Path) -> None:
    save(preset_of("mine", TALK, "For me."))
    assert [path.name for path in config.iterdir()] == ["mine.toml"]
    first = presets()[0]
    assert (first.name, first.own, first.about) == ("mine", True, "For me.")
    taken = with_preset(Conversation(sampling=Sampling(temperature=1.5, logprobs=2)), first)
    assert taken == Conversation(TALK.messages, Sampling(top_k=5, stop=("END", "a\nb"), seed=3, logprobs=2))
    remove("mine")
    assert "mine" not in {preset.name for preset in presets()}


def test_a_user_preset_hides_a_shipped_one() -> None:
    save(Preset("precise", system="Mine."))
    assert preset("precise").system == "Mine."
    remove("precise")
    assert preset("precise").system != "Mine."


def test_what_cannot_be_done(config: Path) -> None:
    assert refused(lambda: preset("nonsense")) == "TW-D10"
    assert refused(lambda: save(Preset("../evil"))) == "TW-D11"
    assert refused(lambda: remove("precise")) == "TW-D12"
    config.parent.mkdir(parents=True)
    config.touch()
    assert refused(lambda: save(Preset("mine"))) == "TW-D12"
    config.unlink()
    config.mkdir()
    (config / "bad.toml").write_text("[sampling]\ntop_p = 7\n")
    assert refused(lambda: with_preset(TALK, preset("bad"))) == "TW-C08"
    (config / "bad.toml").write_text('[sampling]\ntop_k = "many"\n')
    assert refused(lambda: with_preset(TALK, preset("bad"))) == "TW-K01"


def test_forms_show_and_set_everything() -> None:
    shown = answers_of(TALK)
    assert {setting.name for setting in SETTINGS} <= set(shown)
    assert (shown["stop"], shown["system"], shown["top_k"]) == (r"END|a\nb", TALK.system, 5)
    assert with_answers(TALK, shown) == TALK
    emptied = with_answers(TALK, dict.fromkeys(shown))
    assert emptied == Conversation()
    assert with_answers(TALK, {"min_p": 0.1}).sampling.top_k == 5
    assert refused(lambda: with_answers(TALK, {"min_p": 2.0})) == "TW-C08"
