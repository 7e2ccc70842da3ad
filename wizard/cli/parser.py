"""The command line: commands, flags, help and examples. Imports nothing heavy, so that ``--help`` answers at once."""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

from wizard import __version__
from wizard.cli.argparse_words import translate_argparse
from wizard.cli.mistyped import Parser
from wizard.cli.numbers import port, whole
from wizard.kernel.errors import EXIT_CODES
from wizard.kernel.language import LANGUAGES, mark, tr, used
from wizard.kernel.paths import server_name
from wizard.kernel.text import width, wrap
from wizard.plan.questions import (
    KV_DTYPE,
    MAX_TOKENS,
    PP,
    QUANTIZATION,
    SEED,
    SETUP,
    STACK,
    TEMPERATURE,
    TOP_P,
    TP,
    WISHES,
    Question,
    Value,
)

EXAMPLES = (
    ("", mark("the full-screen wizard")),
    (" --plain", mark("the same questions in a plain terminal, also for screen readers")),
    (" web", mark("the full-screen wizard in a browser")),
    (" up demo --yes", mark("serve the offline demo model, no questions asked")),
    (' chat -m "What is Triton?"', mark("ask the served model one question")),
    (" down", mark("stop the server")),
)
"""What is typed behind the program's name, and what that does."""
BEST = mark("a journey (demo), a hub id, a folder or a .gguf file; the best for this machine if left out")
"""A model that need not be named."""


class Help(argparse.RawDescriptionHelpFormatter):
    """Wraps by the columns that characters take, which are two for Korean; examples stay as they are."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return wrap(text, width).split("\n")

    def _format_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None) -> str:
        """Later lines of it stand below the first argument, which argparse finds by counting characters."""
        said = tr("usage: ") if prefix is None else prefix
        room = width(said)
        return said + super()._format_usage(usage, actions, groups, " " * room)[room:]


def parser() -> argparse.ArgumentParser:
    """The command line."""
    translate_argparse()
    codes = "\n".join(f"  {code:>3}  {tr(what)}" for code, what in EXIT_CODES.items())
    column = max(width(words) for words, _ in EXAMPLES) + 2
    examples = [f"  triton-wizard{words:<{column}}{tr(what)}" for words, what in EXAMPLES]
    top = Parser(
        prog="triton-wizard",
        description=tr("From a bare machine to a chat with a model that you serve yourself on NVIDIA Triton."),
        epilog="\n".join([tr("examples:"), *examples, "", tr("exit statuses:"), codes, ""]),
        formatter_class=Help,
    )
    version = f"triton-wizard {__version__}"
    top.add_argument("--version", action="version", version=version, help=tr("show the version and exit"))
    _explain(top, default=False)
    top.add_argument("--plain", action="store_true", help=tr("plain prompts instead of the full-screen wizard"))
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
    group = one.add_argument_group(tr("options of every command"))
    group.add_argument("--workspace", metavar="DIR", default=default, help=tr("where everything is made and kept"))
    group.add_argument(
        "--profiles", metavar="DIR", default=default, help=tr("a folder of profiles that goes before ours")
    )
    group.add_argument(
        "--hardware", metavar="H", default=default, help=tr("plan for another machine: host.json, 4xA6000, cpu")
    )
    group.add_argument(
        "--language",
        choices=LANGUAGES,
        default=default,
        help=tr("of everything that is said; the locale's if left out"),
    )
    group.add_argument(
        "--workshop", metavar="W", default=default, help=tr("a facilitator's profile: a file, or a name (first-server)")
    )
    group.add_argument("--seat", metavar="N", default=default, help=tr("number of your seat in the workshop (0)"))
    group.add_argument("--offline", action="store_true", default=default or False, help=tr("never ask the hub"))
    if json:
        group.add_argument("--json", action="store_true", help=tr("data as JSON on standard output"))


def _command(commands: Commands, name: str, help_text: str, example: str) -> argparse.ArgumentParser:
    one: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help_text,
        description=help_text[0].upper() + help_text[1:] + ".",
        epilog="\n".join([tr("examples:"), *(f"  triton-wizard {line}" for line in example.split("\n"))]),
        formatter_class=Help,
    )
    _common(one, json=True, default=argparse.SUPPRESS)
    return one


def _add_wishes(one: argparse.ArgumentParser, default: Any = None) -> None:
    group = one.add_argument_group(tr("wishes (what you say here is never changed, only refused)"))
    for question in (*WISHES, *SETUP):
        _wish(group, question, default)


def _wish(group: Any, question: Question, default: Any = argparse.SUPPRESS, lower: str = "") -> None:
    """The flag that answers ``question``; ``lower`` is its own default, in words."""
    text, what_for = tr(question.text), tr(question.help)
    begun = text[0].lower() if used() == "en" else text[0]  # elsewhere a capital may be a name's
    about = f"{begun}{text[1:].rstrip('?')}. {what_for}".replace("%", "%%")
    if question.kind == "confirm":
        group.add_argument(question.flag, action="store_true", default=default, help=about)
        return
    unless = lower or (tr(question.otherwise) if question.default is None else str(question.default))

    def answer(text: str) -> Value | None:
        if not text.strip():
            raise argparse.ArgumentTypeError(tr("it is empty"))
        return question.parse(text.lower() if question is QUANTIZATION else text)

    group.add_argument(
        question.flag,
        type=answer,
        choices=question.options or None,
        metavar={"int": "N", "float": "F", "text": "NAME"}.get(question.kind),
        default=default,
        help=f"{about} ({unless})",
    )


def _add_plan(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--name", type=server_name, metavar="NAME", help=tr("name of the server and of the model in Triton")
    )
    one.add_argument(
        "--http-port", type=port, metavar="P", help=tr("first port to try (8000); gRPC and metrics follow")
    )
    _answers(one, default=argparse.SUPPRESS)


def _explain(one: argparse.ArgumentParser, default: Any = argparse.SUPPRESS) -> None:
    one.add_argument(
        "--explain", action="store_true", default=default, help=tr("say at each step what it does and what to look at")
    )


def _answers(one: argparse.ArgumentParser, default: Any = None) -> None:
    one.add_argument(
        "--answers", metavar="FILE", default=default, help=tr("answers from a TOML file; they are not asked")
    )


def _add_stages(commands: Commands) -> None:
    probe = _command(commands, "probe", tr("describe this machine"), "probe\nprobe --save host.json\nprobe --watch 10")
    probe.add_argument("--save", metavar="FILE", help=tr("write the description to FILE, for --hardware elsewhere"))
    watch = tr("what goes on here, anew every S seconds (5), until Ctrl-C")
    probe.add_argument("--watch", metavar="S", nargs="?", type=whole, const=5, help=watch)
    ref_help = tr("a journey (demo), a hub id (org/name), a folder, or a .gguf file")
    model = _command(commands, "model", tr("describe a model"), "model demo\nmodel ./my-model --json")
    model.add_argument("ref", metavar="MODEL", help=ref_help)
    advise = _command(
        commands,
        "advise",
        tr("say what to run here, and why"),
        "advise demo --users 8 --json\nadvise ./my-model --hardware 2xL40S\nadvise --cases fleet.yaml --json",
    )
    bare = tr(
        "a journey (demo), a hub id (org/name), a folder, or a .gguf file; a folder with only a config.json lacks "
        "hf_quant_config.json and the weights' headers, so quantised weights that config.json does not list may be "
        "missed"
    )
    advise.add_argument("ref", nargs="?", metavar="MODEL", help=bare)
    advise.add_argument("--top", type=whole, default=None, metavar="N", help=tr("show only the best N choices"))
    advise.add_argument("--explain", action="store_true", help=tr("show each number's formula and where it is from"))
    advise.add_argument(
        "--cases", metavar="FILE", help=tr("instead of MODEL: machines, models and requests from a YAML file")
    )
    _add_wishes(advise, argparse.SUPPRESS)
    _add_speed(commands, ref_help)
    plan = _command(
        commands,
        "plan",
        tr("show every step and command before anything is done"),
        "plan demo\nplan demo --json > plan.json\nplan tutorial-000 --hardware 1xL4 --shell > serve.sh",
    )
    plan.add_argument("ref", nargs="?", metavar="MODEL", help=tr(BEST))
    plan.add_argument(
        "--shell", action="store_true", help=tr("as a shell script that does the same without the wizard")
    )
    plan.add_argument("--full", action="store_true", help=tr("with the whole text of the files that are written"))
    _explain(plan)
    _add_plan(plan)
    _add_wishes(plan, argparse.SUPPRESS)


def _add_speed(commands: Commands, ref_help: str) -> None:
    speed = _command(
        commands,
        "speed",
        tr("estimate how fast one configuration answers, with a range and who says so"),
        "speed ./my-model --hardware 8xH100 --stack vllm --tp 4 --concurrency 32 --quantization fp8",
    )
    speed.add_argument("ref", metavar="MODEL", help=ref_help)
    for question, lower in (
        (STACK, "vllm"),
        (TP, "1"),
        (PP, "1"),
        (QUANTIZATION, tr("the model's own")),
        (KV_DTYPE, "auto"),
    ):
        _wish(speed, question, lower=lower)
    speed.add_argument(
        "--concurrency", type=whole, default=1, metavar="N", help=tr("users served at the same time (1)")
    )
    speed.add_argument("--isl", type=whole, default=1024, metavar="N", help=tr("tokens of each prompt (1024)"))
    speed.add_argument("--osl", type=whole, default=256, metavar="N", help=tr("tokens of each answer (256)"))
    speed.add_argument("--dtype", choices=("bfloat16", "float16"), help=tr("of what is not quantised; the model's own"))
    speed.add_argument(
        "--provider",
        choices=("roofline", "aiconfigurator"),
        default="roofline",
        help=tr("who is asked: ours, or NVIDIA's aiconfigurator-core (the extra `perf`; takes seconds)"),
    )


def _add_run(commands: Commands) -> None:
    run = _command(commands, "run", tr("carry out a plan that was saved"), "run plan.json\nrun plan.json --json")
    run.add_argument("plan", metavar="PLAN", help=tr("what `plan --json` printed; - for standard input"))
    run.add_argument("--verbose", action="store_true", help=tr("show all output of the steps"))
    run.add_argument(
        "--redo",
        action="append",
        metavar="STEP",
        help=tr("do this step again, and all that use what it makes; repeatable"),
    )
    run.add_argument("--skip", action="append", metavar="STEP", help=tr("leave this step out; repeatable"))
    run.add_argument("--yes", action="store_true", help=tr("as for `up`; a saved plan is accepted without it, too"))
    up = _command(
        commands,
        "up",
        tr("go the whole way to a served model"),
        "up demo --yes\nup ./model.gguf --name mine --yes --json",
    )
    up.add_argument("ref", nargs="?", metavar="MODEL", help=tr(BEST))
    up.add_argument("--yes", action="store_true", help=tr("accept the plan without asking"))
    up.add_argument("--verbose", action="store_true", help=tr("show all output of the steps"))
    _explain(up)
    _add_plan(up)
    _add_wishes(up, argparse.SUPPRESS)
    demo = _command(commands, "demo", tr("serve the offline demo, ask it one question, and stop it again"), "demo")
    demo.add_argument("--verbose", action="store_true", help=tr("show all output of the steps"))


def _add_server(commands: Commands) -> None:
    which = tr("a server of the workspace; the only one if left out")
    _command(commands, "status", tr("show the servers and whether they are ready"), "status\nstatus --json")
    logs = _command(commands, "logs", tr("show a server's log"), "logs\nlogs demo -n 500 --raw")
    logs.add_argument("name", nargs="?", metavar="NAME", help=which)
    logs.add_argument("-n", "--lines", type=whole, default=100, metavar="N", help=tr("the last N lines (100)"))
    logs.add_argument("--step", metavar="STEP", help=tr("the log of a step (environment, model, question …) instead"))
    logs.add_argument(
        "--raw", action="store_true", help=tr("with the lines that mean nothing on a machine without a GPU")
    )
    down = _command(commands, "down", tr("stop a server and free its ports"), "down\ndown demo")
    down.add_argument("name", nargs="?", metavar="NAME", help=which)
    chat = _command(
        commands,
        "chat",
        tr("talk to a served model"),
        'chat\nchat -m "What is Triton?" --json\nchat < questions.txt\nchat --url http://127.0.0.1:9000/v1',
    )
    chat.add_argument("name", nargs="?", metavar="NAME", help=which)
    chat.add_argument(
        "--url", metavar="URL", help=tr("an OpenAI-compatible server instead: trtllm-serve, vLLM, Triton's")
    )
    chat.add_argument(
        "--model", metavar="NAME", help=tr("the model's name there, where it is not the only or usual one")
    )
    chat.add_argument(
        "--tokenizer", metavar="FOLDER", help=tr("the model's folder with tokenizer.json and chat template, if needed")
    )
    chat.add_argument(
        "-m", "--message", metavar="TEXT", help=tr("ask this (- is all of standard input), print the answer, end")
    )
    chat.add_argument("--system", metavar="TEXT", help=tr("system prompt"))
    for question in (TEMPERATURE, TOP_P, MAX_TOKENS, SEED):
        _wish(chat, question)
    chat.add_argument(
        "--preset", metavar="NAME", help=tr("a system prompt with settings; /preset in the chat lists them")
    )
    chat.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=tr("any other setting (top_k=40, stop=END); /set in the chat lists them; repeatable"),
    )
    chat.add_argument("--continue", dest="go_on", action="store_true", help=tr("go on with the last conversation"))
    chat.add_argument("--private", action="store_true", help=tr("keep nothing of this conversation"))
    chat.add_argument("--protocol", choices=("grpc", "http"), default="grpc", help=tr("how Triton is asked (grpc)"))


def _add_rest(commands: Commands) -> None:
    _add_lint(commands)
    _add_web(commands)
    journeys = _command(
        commands,
        "journeys",
        tr("list the ready-made journeys, or show one of them"),
        "journeys\njourneys tutorial-000\njourneys --json",
    )
    journeys.add_argument("name", nargs="?", metavar="NAME", help=tr("show this one with what was repaired in it"))
    _add_prerequisites(commands)
    clean = _command(
        commands, "clean", tr("list what the wizard has made, with sizes, and remove it"), "clean\nclean --yes"
    )
    clean.add_argument("--yes", action="store_true", help=tr("remove it all; without this it is only listed"))


def _add_web(commands: Commands) -> None:
    web = _command(
        commands,
        "web",
        tr("open the full-screen wizard in a browser of this machine"),
        "web\nweb --port 9000 --no-open",
    )
    web.add_argument(
        "--port",
        type=partial(port, last=65535),
        metavar="P",
        help=tr("where to listen on 127.0.0.1; a free one if left out"),
    )
    web.add_argument("--no-open", action="store_true", help=tr("only print the address"))
    _answers(web, default=argparse.SUPPRESS)
    _explain(web)


def _add_prerequisites(commands: Commands) -> None:
    one = _command(
        commands,
        "prerequisites",
        tr("say what this machine lacks for containers with GPUs, and what brings it"),
        "prerequisites\nprerequisites --json\nprerequisites --run toolkit",
    )
    one.add_argument(
        "--run", choices=("driver", "engine", "toolkit"), help=tr("run the commands that bring it, after asking")
    )
    one.add_argument("--yes", action="store_true", help=tr("run them without asking"))


def _add_lint(commands: Commands) -> None:
    lint = _command(
        commands,
        "lint",
        tr("say what is wrong with a Triton model repository before a server is started on it"),
        "lint ./model_repository\n"
        "lint ./model_repository --server-version 24.09-trtllm-python-py3 --hardware 1xL4 --json\n"
        "lint ./model_repository --mount /data/engines:/engines",
    )
    lint.add_argument("repository", metavar="DIR", help=tr("the folder that holds one folder for each model"))
    lint.add_argument("--server-version", metavar="V", help=tr("tag of NVIDIA's image: 24.09, 24.09-trtllm-python-py3"))
    lint.add_argument("--backends", metavar="B,B", help=tr("the backends that the server has, instead of the image's"))
    lint.add_argument(
        "--mount",
        action="append",
        default=[],
        metavar="HERE:/THERE",
        help=tr("a folder of this machine, seen elsewhere"),
    )
