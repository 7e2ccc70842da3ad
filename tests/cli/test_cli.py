"""The command line as a user meets it: a process of its own, with exit statuses, and never a hang."""

from __future__ import annotations

import io
import json
import os
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from tests.chain_model import write_chain_model
from wizard.cli import main
from wizard.cli.commands import COMMANDS
from wizard.cli.parser import parser
from wizard.kernel.errors import EXIT_CODES


def wizard(*arguments: str, text: str | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the wizard without a terminal; a hang fails by time-out."""
    return subprocess.run(
        [sys.executable, "-m", "wizard", *arguments],
        input=text,
        stdin=subprocess.DEVNULL if text is None else None,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **env},
    )


def wizard_inside(*arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """The same in this process, for commands that start no other: nothing is imported again."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        for name, value in env.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdin", io.StringIO())
        with pytest.raises(SystemExit) as ended:
            main(arguments)
    return subprocess.CompletedProcess(arguments, int(ended.value.code or 0), out.getvalue(), err.getvalue())


@pytest.fixture
def gguf(tmp_path: Path) -> str:
    return str(write_chain_model(tmp_path / "chain.gguf"))


@pytest.mark.parametrize("words", [["run", "plan.json", "--yes"], ["up", "demo", "--yes"]], ids=lambda words: words[0])
def test_every_command_with_a_plan_has_a_flag_to_accept_it(words: list[str]) -> None:
    assert parser().parse_args(words).yes


def test_help_names_every_command_with_exit_statuses_and_examples() -> None:
    shown = wizard("--help").stdout
    assert all(name in shown for name in COMMANDS if name)
    assert all(meaning in shown for meaning in EXIT_CODES.values())
    assert "examples:" in shown


@pytest.mark.parametrize("name", sorted(name for name in COMMANDS if name))
def test_every_command_has_help_with_an_example(name: str) -> None:
    done = wizard(name, "--help")
    assert done.returncode == 0
    assert f"triton-wizard {name}" in done.stdout.split("examples:")[1]


def test_the_parser_and_the_table_of_commands_agree() -> None:
    (commands,) = (action for action in parser()._actions if action.dest == "command")
    assert set(commands.choices or ()) == {name for name in COMMANDS if name}


def test_global_options_count_before_and_after_the_command(tmp_path: Path) -> None:
    for arguments in (("--workspace", "A", "status"), ("status", "--workspace", "A")):
        assert parser().parse_args(arguments).workspace == "A"
    assert parser().parse_args(["status"]).workspace is None


def test_without_a_terminal_the_wizard_says_which_command_to_use() -> None:
    done = wizard()
    assert done.returncode == 2
    assert "TW-U02" in done.stderr
    assert "up demo --yes" in done.stderr


def test_an_invalid_machine_is_reported_before_a_screen_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TEXTUAL_DRIVER", "no.such:Driver")  # as in a browser, where the wizard needs no terminal
    with pytest.raises(SystemExit) as ended:
        main(["--hardware", "nonsense"])
    assert ended.value.code == 2
    assert "TW-P05" in capsys.readouterr().err


def test_up_without_a_terminal_and_without_yes_does_not_wait(gguf: str) -> None:
    done = wizard("up", gguf)
    assert done.returncode == 2
    assert "TW-U03" in done.stderr
    assert "--yes" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "code"),
    [
        (("model", "./no-such-folder"), 4, "TW-M"),
        (("model", ";rm -rf ~"), None, "TW-"),
        (("model", "../../etc/passwd\n"), None, "TW-"),
        (("model", "${HOME}"), None, "TW-"),
        (("plan", "./none.gguf"), 4, "TW-M"),
        (("up", "./none.gguf", "--yes"), 4, "TW-M"),
        (("run", "no-plan.json"), 2, "TW-U05"),
        (("probe", "--hardware", "4xNothing"), 2, "TW-P"),
        (("probe", "--hardware", "none.json"), 2, "TW-P"),
        (("chat", "-m", "hi"), 8, "TW-S02"),
        (("logs",), 2, "TW-S08"),
        (("logs", "nosuch"), 2, "TW-S09"),
        (("down", "../x"), 2, "TW-U01"),
    ],
)
def test_bad_input_has_a_code_and_a_status(arguments: tuple[str, ...], status: int | None, code: str) -> None:
    done = wizard(*arguments)
    assert done.returncode == status if status else done.returncode not in (0, 1)
    assert done.stderr.startswith(code)
    assert "→" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_plan_that_is_no_text_says_where(tmp_path: Path) -> None:
    plan = tmp_path / "plan.json"
    plan.write_bytes(b"{\xff")
    done = wizard("run", str(plan))
    assert done.returncode == 2
    assert done.stderr.startswith(f"TW-K02: {plan} is not valid JSON: byte 2 is not UTF-8")


def test_a_command_in_an_error_can_be_pasted(tmp_path: Path) -> None:
    """It names the program where that is not on PATH, and the workspace that was given."""
    done = wizard("--workspace", str(tmp_path / "my work"), "chat", "-m", "hi", PATH="/usr/bin:/bin")
    advised = done.stderr[done.stderr.index("`") + 1 : done.stderr.rindex("`")]
    assert shlex.split(advised)[1:] == ["--workspace", str(tmp_path / "my work"), "up", "demo"]
    assert Path(shlex.split(advised)[0]).is_file()


def test_with_json_an_error_is_json_too() -> None:
    done = wizard("chat", "-m", "hi", "--json")
    assert done.returncode == 8
    error = json.loads(done.stdout)["error"]
    assert error["code"] == "TW-S02"
    assert error["todo"]


def test_without_a_model_that_fits_there_is_nothing_to_suggest(tmp_path: Path) -> None:
    """A recorded machine with too little memory for any of them."""
    host = json.loads(wizard("probe", "--json").stdout)
    path = tmp_path / "small.json"
    path.write_text(json.dumps({**host, "memory_total_bytes": 2**20, "memory_available_bytes": 2**20}))
    done = wizard("plan", "demo", "--hardware", str(path))
    assert done.returncode == 3
    done = wizard("up", "--yes", "--offline", "--hardware", str(path))
    assert (done.returncode, done.stderr[:6]) == (2, "TW-U04")


def test_an_impossible_constraint_is_refused_with_its_fix(gguf: str) -> None:
    done = wizard("advise", gguf, "--tp", "2", "--json")
    assert done.returncode == 3
    advice = json.loads(done.stdout)
    assert not advice["feasible"]
    assert advice["rejections"][0]["remedy"] == "omit --tp"
    done = wizard("up", gguf, "--tp", "2", "--yes")
    assert done.returncode == 3
    assert "TW-A01" in done.stderr


def test_advice_has_the_documented_shape(gguf: str) -> None:
    choice = json.loads(wizard("advise", gguf, "--users", "3", "--json").stdout)["choices"][0]
    assert choice["max_batch_size"] == 3
    memory = set(choice["memory"])
    assert memory == {
        "weights_bytes",
        "kv_bytes_per_token",
        "kv_capacity_tokens",
        "activation_bytes",
        "overhead_bytes",
        "total_bytes",
        "budget_bytes",
    }
    assert set(choice) >= {
        "stack",
        "runtime",
        "dtype",
        "quantization",
        "kv_cache_dtype",
        "tp",
        "pp",
        "release",
        "speed",
    }


def test_a_plan_as_json_can_be_run_elsewhere_only_if_it_was_made_there(gguf: str, tmp_path: Path) -> None:
    plan = wizard("plan", gguf, "--hardware", "4xA6000", "--json")
    assert plan.returncode == 0, plan.stderr
    done = wizard("run", "-", text=plan.stdout)
    assert done.returncode == 2
    assert "TW-R02" in done.stderr


def test_a_plan_that_was_tampered_with_names_the_field(gguf: str) -> None:
    plan = json.loads(wizard("plan", gguf, "--json").stdout)
    plan["steps"][0]["estimate"]["seconds"] = "soon"
    done = wizard("run", "-", text=json.dumps(plan))
    assert done.returncode == 2
    assert "TW-K01" in done.stderr
    assert "seconds" in done.stderr


def test_a_workspace_that_cannot_be_written_loses_nothing(gguf: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("precious")
    done = wizard("up", gguf, "--yes", "--workspace", str(tmp_path / "file"))
    assert done.returncode == 6
    assert "TW-K03" in done.stderr
    assert (tmp_path / "file").read_text() == "precious"


def test_a_missing_interpreter_is_reported_before_anything_is_created(gguf: str, tmp_path: Path) -> None:
    host = json.loads(wizard("probe", "--json").stdout)
    host["interpreters"] = []
    host["source"] = "this machine"
    (tmp_path / "host.json").write_text(json.dumps(host))
    done = wizard("up", gguf, "--yes", "--hardware", str(tmp_path / "host.json"))
    assert done.returncode == 3
    assert "libpython" in done.stderr
    assert not Path(os.environ["TRITON_WIZARD_HOME"]).exists()


def test_an_ascii_terminal_shows_everything(gguf: str) -> None:
    done = wizard("plan", gguf, PYTHONIOENCODING="ascii", LC_ALL="C", PYTHONUTF8="0")
    assert done.returncode == 0
    assert "Create the server environment" in done.stdout


def test_a_reader_that_goes_away_is_no_defect(gguf: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody:
        words = [sys.executable, "-m", "wizard", "plan", gguf]
        done = subprocess.run(words, stdout=nobody, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr
    assert done.returncode == 141


@pytest.mark.parametrize("words", [("recipes",), ("recipes", "--json"), ("chat", "-m", "x", "--json")])
def test_a_full_disk_behind_the_output_is_no_defect(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:  # full(4)
        argv = [sys.executable, "-m", "wizard", *words]
        done = subprocess.run(argv, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 3
    assert done.stderr.startswith("TW-U63: cannot write any more output: No space left on device\n")
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_before_an_error_as_json_is_no_defect() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody:
        words = [sys.executable, "-m", "wizard", "chat", "-m", "x", "--json"]
        done = subprocess.run(words, stdout=nobody, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_standard_streams_are_no_defect(closed: str) -> None:
    line = f'"{sys.executable}" -m wizard recipes {closed}'  # the shell only closes the streams
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0
    assert done.stderr == ""


@pytest.mark.parametrize("answer", ["n\r", "\x04"], ids=["no", "Ctrl-D"])
def test_a_plan_that_is_not_accepted_does_nothing(gguf: str, answer: str) -> None:
    import pexpect

    child = pexpect.spawn(sys.executable, ["-m", "wizard", "up", gguf], encoding="utf-8", timeout=60)
    child.expect(r"Start\? \[Y/n\] ")
    child.send(answer)
    child.expect("TW-U06")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 130
    assert not Path(os.environ["TRITON_WIZARD_HOME"]).exists()


def test_probe_saves_what_hardware_reads(tmp_path: Path) -> None:
    file = tmp_path / "host.json"
    assert wizard("probe", "--save", str(file)).returncode == 0
    assert json.loads(wizard("probe", "--hardware", str(file), "--json").stdout)["cpu"]["cores"] >= 1


def test_profiles_of_ones_own_go_first(tmp_path: Path) -> None:
    recipes = tmp_path / "profiles" / "recipes"
    recipes.mkdir(parents=True)
    (recipes / "mine.toml").write_text('title = "Mine"\nabout = "A."\nmodel = "org/name"\nsource = "me"\n')
    listed = json.loads(wizard("recipes", "--profiles", str(tmp_path / "profiles"), "--json").stdout)
    assert {"mine", "demo"} <= {recipe["name"] for recipe in listed}
    (recipes / "bad.toml").write_text("title = ")
    done = wizard("recipes", "--profiles", str(tmp_path / "profiles"))
    assert done.returncode == 2
    assert "TW-D02" in done.stderr
    done = wizard("recipes", "--profiles", str(tmp_path / "profles"))
    assert done.returncode == 2
    assert "TW-U64" in done.stderr


def test_a_server_without_a_readable_plan_is_not_taken_for_a_model(gguf: str) -> None:
    folder = Path(os.environ["TRITON_WIZARD_HOME"]) / "servers" / "chain"
    folder.mkdir(parents=True)
    (folder / "plan.json").write_text("{")
    assert wizard("plan", "chain").returncode in (2, 4, 5)
