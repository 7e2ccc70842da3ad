from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.model.gguf_bytes import LLAMA_CONFIG, folder, tiny
from wizard.kernel.errors import UsageError, WizardError
from wizard.model.refs import HubRef, parse_ref
from wizard.model.source import draft, find

HOSTILE = [
    "",
    " ",
    ";rm -rf ~",
    "$(touch pwned)",
    "`touch pwned`",
    "${HOME}",
    "a\nb",
    "org/name\n",
    "'",
    '"',
    "a/b/c",
    "org/na me",
    "org/..",
    "org/name@../../x",
    "org/name:../x.gguf",
    "org/name:x.bin",
    "x" * 10_240,
    "org/" + "x" * 10_240,
    "\x00",
    "\x1b]0;title\x07",
    "\ud800",
    "-rf/x",
    "org--x/name",
    "org/name.git",
    "nobody",
    "http://127.0.0.1:9/org/name",
]


def test_a_mistyped_recipe_gets_a_suggestion() -> None:
    with pytest.raises(UsageError) as caught:
        find("dmeo")
    assert caught.value.code == "TW-M01"
    assert caught.value.todo.startswith("Did you mean demo? Use a recipe")


@pytest.mark.parametrize("ref", ["http://localhost:11434", "https://gpu.example:8000/v1"])
def test_the_address_of_a_server_is_for_the_chat(ref: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(ref)
    assert caught.value.code == "TW-M01"
    assert caught.value.todo.startswith(f"To chat with a server there: `triton-wizard chat --url {ref}`.")


@pytest.mark.parametrize("ref", HOSTILE)
def test_refs_of_no_known_form_are_refused_and_nothing_is_evaluated(ref: str) -> None:
    with pytest.raises(UsageError) as caught:
        find(ref)
    assert caught.value.code == "TW-M01"
    assert len(str(caught.value)) < 500
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        ("org/name", HubRef("org/name")),
        ("Qwen/Qwen2.5-0.5B-Instruct", HubRef("Qwen/Qwen2.5-0.5B-Instruct")),
        ("org/name@main", HubRef("org/name", "main")),
        ("org/name@refs/pr/1", HubRef("org/name", "refs/pr/1")),
        ("org/name:a-Q8_0.gguf", HubRef("org/name", None, "a-Q8_0.gguf")),
        ("org/name@v1.0:sub/a.gguf", HubRef("org/name", "v1.0", "sub/a.gguf")),
    ],
)
def test_hub_ids(ref: str, expected: HubRef) -> None:
    assert parse_ref(ref) == expected
    assert str(expected) == ref


@pytest.mark.parametrize("ref", ["./nothing", "../nothing", "/nothing/here", "~/nothing", "~nobody-here/x", "./a b;c"])
def test_a_path_that_is_not_there(ref: str) -> None:
    with pytest.raises(WizardError) as caught:
        find(ref)
    assert caught.value.code == "TW-M02"


def test_whatever_exists_is_a_path_even_if_it_looks_like_a_hub_id() -> None:
    folder(Path("org/name"))
    assert find("org/name").source == "folder"
    assert find("./org/name").layers == 2
    assert find(str(Path("org/name").absolute())).layers == 2


def test_home_is_expanded() -> None:
    folder(Path.home() / "my-model")
    assert find("~/my-model").name == "my-model"


def test_a_gguf_file() -> None:
    Path("tiny.gguf").write_bytes(tiny().bytes())
    assert find("tiny.gguf").source == "gguf"
    assert find(".").name == "Tiny"


def test_a_recipe_with_a_model_in_the_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "models" / "m").mkdir(parents=True)
    (tmp_path / "recipes").mkdir()
    (tmp_path / "models" / "m" / "m.gguf").write_bytes(tiny().bytes())
    (tmp_path / "models" / "m" / "questions.json").write_text('["What is Triton?"]')
    head = 'title = "T"\nabout = "A"\nsource = "S"\n'
    (tmp_path / "recipes" / "mine.toml").write_text(head + 'model = "models/m/m.gguf"\n')
    (tmp_path / "recipes" / "lost.toml").write_text(head + 'model = "models/lost/m.gguf"\n')
    monkeypatch.setenv("TRITON_WIZARD_PROFILES", str(tmp_path))
    facts = find("mine")
    assert (facts.ref, facts.source, facts.questions) == ("mine", "recipe", ("What is Triton?",))
    assert Path(facts.location) == tmp_path / "models" / "m" / "m.gguf"
    with pytest.raises(UsageError) as caught:
        find("lost")
    assert caught.value.code == "TW-D01"


def test_describing_a_model_opens_no_pickle_and_imports_no_torch(tmp_path: Path) -> None:
    made = folder(tmp_path / "m", pytorch_model__bin=b"\x80\x04.")
    script = (
        "import sys, builtins\n"
        "from wizard.model.source import draft, find\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == 'open' else None)\n"
        f"try: find({str(made)!r})\n"
        "except Exception as error: print(error.code)\n"
        "print([name for name in opened if name.endswith('.bin')])\n"
        "print(sorted({'torch', 'transformers', 'huggingface_hub', 'safetensors', 'numpy'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["TW-M06", "[]", "[]"]


def test_a_draft_model_in_a_folder_is_read_again(tmp_path: Path) -> None:
    """A session may be long, and the folder another one by then."""
    where = folder(tmp_path / "draft", {**LLAMA_CONFIG, "num_hidden_layers": 1})
    assert draft(str(where), True).layers == 1
    folder(where, {**LLAMA_CONFIG, "num_hidden_layers": 2})
    assert draft(str(where), True).layers == 2
