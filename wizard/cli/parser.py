"""The command line: commands, flags, help and examples. Imports nothing heavy, so that ``--help`` answers at once."""

from __future__ import annotations

import argparse
from typing import Any

from wizard import __version__
from wizard.kernel.errors import EXIT_CODES
from wizard.kernel.language import LANGUAGES
from wizard.kernel.paths import server_name
from wizard.plan.questions import KV_DTYPE, PP, QUANTIZATION, SETUP, STACK, TP, WISHES, Question, Value

EXAMPLES = """\
examples:
  triton-wizard                          the full-screen wizard
  triton-wizard --plain                  the same questions in a plain terminal
  triton-wizard up demo --yes            serve the offline demo model, no questions asked
  triton-wizard chat -m "What is Triton?"
  triton-wizard down
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    codes = "\n".join(f"  {code:>3}  {what}" for code, what in EXIT_CODES.items())
    top = argparse.ArgumentParser(
        prog="triton-wizard",
        description="From a bare machine to a chat with a model that you serve yourself on NVIDIA Triton.",
        epilog=f"{EXAMPLES}\nexit statuses:\n{codes}\n",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"triton-wizard {__version__}")
    top.add_argument("--plain", action="store_true", help="plain prompts instead of the full-screen wizard")
    _answers(top)
    _common(top)
    _add_wishes(top)
    commands = top.add_subparsers(metavar="COMMAND", dest="command")
    for add in (_add_stages, _add_run, _add_server, _add_rest):
        add(commands)
    return top


Commands = Any  # argparse does not name the type of what add_subparsers returns


def _common(one: argparse.ArgumentParser, *, json: bool = False, default: Any = None) -> None:
    """Options of every command; below a command they must not overwrite what came before it."""
    one.add_argument("--workspace", metavar="DIR", default=default, help="where everything is made and kept")
    one.add_argument("--profiles", metavar="DIR", default=default, help="a folder of profiles that goes before ours")
    one.add_argument(
        "--hardware", metavar="H", default=default, help="plan for another machine: host.json, 4xA6000, cpu"
    )
    one.add_argument(
        "--language", choices=LANGUAGES, default=default, help="of everything that is said; the locale's if left out"
    )
    one.add_argument("--offline", action="store_true", default=default or False, help="never ask the hub")
    if json:
        one.add_argument("--json", action="store_true", help="data as JSON on standard output")


def _command(commands: Commands, name: str, help_text: str, example: str) -> argparse.ArgumentParser:
    one: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_text,
        description=help_text[0].upper() + help_text[1:] + ".",
        epilog="examples:\n" + "\n".join(f"  triton-wizard {line}" for line in example.split("\n")),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _common(one, json=True, default=argparse.SUPPRESS)
    return one


def _add_wishes(one: argparse.ArgumentParser, default: Any = None) -> None:
    group = one.add_argument_group("wishes (what you say here is never changed, only refused)")
    for question in (*WISHES, *SETUP):
        _wish(group, question, default)


def _wish(group: Any, question: Question, default: Any = argparse.SUPPRESS, lower: str = "") -> None:
    """The flag that answers ``question``; ``lower`` is its own default, in words."""
    about = f"{question.text[0].lower()}{question.text[1:].rstrip('?')}. {question.help}".replace("%", "%%")
    if question.kind == "confirm":
        group.add_argument(question.flag, action="store_true", default=default, help=about)
        return
    unless = lower or str(question.default or question.otherwise)

    def answer(text: str) -> Value | None:
        if not text.strip():
            raise argparse.ArgumentTypeError("it is empty")
        return question.parse(text.lower() if question is QUANTIZATION else text)

    group.add_argument(
        question.flag,
        type=answer,
        choices=question.choices or None,
        metavar={"int": "N", "float": "F", "text": "NAME"}.get(question.kind),
        default=default,
        help=f"{about} ({unless})",
    )


def _add_plan(one: argparse.ArgumentParser) -> None:
    one.add_argument("--name", type=server_name, metavar="NAME", help="name of the server and of the model in Triton")
    one.add_argument("--http-port", type=_port, metavar="P", help="first port to try (8000); gRPC and metrics follow")
    _answers(one, default=argparse.SUPPRESS)


def _answers(one: argparse.ArgumentParser, default: Any = None) -> None:
    one.add_argument("--answers", metavar="FILE", default=default, help="answers from a TOML file; they are not asked")


def _whole(text: str) -> int:
    value = int(text) if text.isdecimal() else 0
    if value < 1:
        raise argparse.ArgumentTypeError("must be a whole number, 1 or more")
    return value


def _port(text: str) -> int:
    value = int(text) if text.isdecimal() else 0
    if not 1 <= value <= 65533:
        raise argparse.ArgumentTypeError("must be 1 to 65533")
    return value


def _add_stages(commands: Commands) -> None:
    probe = _command(commands, "probe", "describe this machine", "probe\nprobe --json\nprobe --save host.json")
    probe.add_argument("--save", metavar="FILE", help="write the description to FILE, for --hardware elsewhere")
    ref_help = "a journey (demo), a hub id (org/name), a folder, or a .gguf file"
    model = _command(commands, "model", "describe a model", "model demo\nmodel ./my-model --json")
    model.add_argument("ref", metavar="MODEL", help=ref_help)
    advise = _command(
        commands,
        "advise",
        "say what to run here, and why",
        "advise demo --users 8 --json\nadvise ./my-model --hardware 2xL40S\nadvise --cases fleet.yaml --json",
    )
    bare = "a folder with only a config.json lacks hf_quant_config.json and the weights' headers, so quantised weights "
    bare += "that config.json does not list may be missed"
    advise.add_argument("ref", nargs="?", metavar="MODEL", help=f"{ref_help}; {bare}")
    advise.add_argument("--top", type=_whole, default=None, metavar="N", help="show only the best N choices")
    advise.add_argument("--explain", action="store_true", help="show each number's formula and where it is from")
    advise.add_argument(
        "--cases", metavar="FILE", help="instead of MODEL: machines, models and requests from a YAML file"
    )
    _add_wishes(advise, argparse.SUPPRESS)
    _add_speed(commands, ref_help)
    plan = _command(
        commands,
        "plan",
        "show every step and command before anything is done",
        "plan demo\nplan demo --json > plan.json\nplan tutorial-000 --hardware 1xL4 --shell > serve.sh",
    )
    plan.add_argument("ref", metavar="MODEL", help=ref_help)
    plan.add_argument("--shell", action="store_true", help="as a shell script that does the same without the wizard")
    plan.add_argument("--full", action="store_true", help="with the whole text of the files that are written")
    _add_plan(plan)
    _add_wishes(plan, argparse.SUPPRESS)


def _add_speed(commands: Commands, ref_help: str) -> None:
    speed = _command(
        commands,
        "speed",
        "estimate how fast one configuration answers, with a range and who says so",
        "speed ./my-model --hardware 8xH100 --stack vllm --tp 4 --concurrency 32 --quantization fp8",
    )
    speed.add_argument("ref", metavar="MODEL", help=ref_help)
    for question, lower in (
        (STACK, "vllm"),
        (TP, "1"),
        (PP, "1"),
        (QUANTIZATION, "the model's own"),
        (KV_DTYPE, "auto"),
    ):
        _wish(speed, question, lower=lower)
    speed.add_argument("--concurrency", type=_whole, default=1, metavar="N", help="users served at the same time (1)")
    speed.add_argument("--isl", type=_whole, default=1024, metavar="N", help="tokens of each prompt (1024)")
    speed.add_argument("--osl", type=_whole, default=256, metavar="N", help="tokens of each answer (256)")
    speed.add_argument("--dtype", choices=("bfloat16", "float16"), help="of what is not quantised; the model's own")
    speed.add_argument(
        "--provider",
        choices=("roofline", "aiconfigurator"),
        default="roofline",
        help="who is asked: ours, or NVIDIA's aiconfigurator-core (the extra `perf`; takes seconds)",
    )


def _add_run(commands: Commands) -> None:
    run = _command(commands, "run", "carry out a plan that was saved", "run plan.json\nrun plan.json --json")
    run.add_argument("plan", metavar="PLAN", help="what `plan --json` printed; - for standard input")
    run.add_argument("--verbose", action="store_true", help="show all output of the steps")
    run.add_argument(
        "--redo", action="append", metavar="STEP", help="do this step again, and all that use what it makes; repeatable"
    )
    run.add_argument("--skip", action="append", metavar="STEP", help="leave this step out; repeatable")
    up = _command(
        commands, "up", "go the whole way to a served model", "up demo --yes\nup ./model.gguf --name mine --yes --json"
    )
    up.add_argument(
        "ref",
        nargs="?",
        metavar="MODEL",
        help="a journey (demo), a hub id, a folder or a .gguf file; the best for this machine if left out",
    )
    up.add_argument("--yes", action="store_true", help="accept the plan without asking")
    up.add_argument("--verbose", action="store_true", help="show all output of the steps")
    _add_plan(up)
    _add_wishes(up, argparse.SUPPRESS)
    demo = _command(commands, "demo", "serve the offline demo, ask it one question, and stop it again", "demo")
    demo.add_argument("--verbose", action="store_true", help="show all output of the steps")


def _add_server(commands: Commands) -> None:
    _command(commands, "status", "show the servers and whether they are ready", "status\nstatus --json")
    logs = _command(commands, "logs", "show a server's log", "logs\nlogs demo -n 500 --raw")
    logs.add_argument("name", nargs="?", metavar="NAME")
    logs.add_argument("-n", "--lines", type=_whole, default=100, metavar="N", help="the last N lines (100)")
    logs.add_argument("--step", metavar="STEP", help="the log of a step (environment, model, question …) instead")
    logs.add_argument("--raw", action="store_true", help="with the lines that mean nothing on a machine without a GPU")
    down = _command(commands, "down", "stop a server and free its ports", "down\ndown demo")
    down.add_argument("name", nargs="?", metavar="NAME")
    chat = _command(
        commands,
        "chat",
        "talk to a served model",
        'chat\nchat -m "What is Triton?" --json\nchat < questions.txt\nchat --url http://127.0.0.1:9000/v1',
    )
    chat.add_argument("name", nargs="?", metavar="NAME")
    chat.add_argument("--url", metavar="URL", help="an OpenAI-compatible server instead: trtllm-serve, vLLM, Triton's")
    chat.add_argument("--model", metavar="NAME", help="the model's name there, where it is not the only or usual one")
    chat.add_argument(
        "--tokenizer", metavar="FOLDER", help="the model's folder with tokenizer.json and chat template, if needed"
    )
    chat.add_argument("-m", "--message", metavar="TEXT", help="ask this, print the answer, end")
    chat.add_argument("--system", metavar="TEXT", help="system prompt")
    chat.add_argument("--temperature", type=float, metavar="T", help="0 always takes the likeliest token")
    chat.add_argument("--top-p", type=float, metavar="P")
    chat.add_argument("--max-tokens", type=_whole, metavar="N")
    chat.add_argument("--seed", type=int, metavar="N")
    chat.add_argument("--protocol", choices=("grpc", "http"), default="grpc")


def _add_rest(commands: Commands) -> None:
    _add_lint(commands)
    journeys = _command(
        commands,
        "journeys",
        "list the ready-made journeys, or show one of them",
        "journeys\njourneys tutorial-000\njourneys --json",
    )
    journeys.add_argument("name", nargs="?", metavar="NAME", help="show this one with what was repaired in it")
    _add_prerequisites(commands)
    clean = _command(
        commands, "clean", "list what the wizard has made, with sizes, and remove it", "clean\nclean --yes"
    )
    clean.add_argument("--yes", action="store_true", help="remove it all; without this it is only listed")


def _add_prerequisites(commands: Commands) -> None:
    one = _command(
        commands,
        "prerequisites",
        "say what this machine lacks for containers with GPUs, and what brings it",
        "prerequisites\nprerequisites --json\nprerequisites --run toolkit",
    )
    one.add_argument(
        "--run", choices=("driver", "engine", "toolkit"), help="run the commands that bring it, after asking"
    )
    one.add_argument("--yes", action="store_true", help="run them without asking")


def _add_lint(commands: Commands) -> None:
    lint = _command(
        commands,
        "lint",
        "say what is wrong with a Triton model repository before a server is started on it",
        "lint ./model_repository\n"
        "lint ./model_repository --server-version 24.09-trtllm-python-py3 --hardware 1xL4 --json\n"
        "lint ./model_repository --mount /data/engines:/engines",
    )
    lint.add_argument("repository", metavar="DIR", help="the folder that holds one folder for each model")
    lint.add_argument("--server-version", metavar="V", help="tag of NVIDIA's image: 24.09, 24.09-trtllm-python-py3")
    lint.add_argument("--backends", metavar="B,B", help="the backends that the server has, instead of the image's")
    lint.add_argument(
        "--mount", action="append", default=[], metavar="HERE:/THERE", help="a folder of this machine, seen elsewhere"
    )
