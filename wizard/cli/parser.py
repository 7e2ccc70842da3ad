"""The command line: commands, flags, help and examples. Imports nothing heavy, so that ``--help`` is immediate."""

from __future__ import annotations

import argparse
from functools import partial

from wizard import __version__
from wizard.cli.argparse_text import translate_argparse
from wizard.cli.bench_flags import EXAMPLES as EXAMPLES_OF_BENCH
from wizard.cli.bench_flags import add_bench
from wizard.cli.bundle import EXAMPLES as EXAMPLES_OF_BUNDLE
from wizard.cli.bundle import add_bundle
from wizard.cli.doctor import EXAMPLES as EXAMPLES_OF_DOCTOR
from wizard.cli.doctor import add_doctor
from wizard.cli.exposure import add_exposure
from wizard.cli.flags import (
    BEST,
    Commands,
    Help,
    add_answers,
    add_command,
    add_common,
    add_constraints,
    add_explain,
    add_flag,
    add_keep,
    add_plan_flags,
    add_verify,
    not_empty,
)
from wizard.cli.number_types import port, whole
from wizard.cli.room import EXAMPLES as EXAMPLES_OF_WORKSHOP
from wizard.cli.room import add_workshop
from wizard.cli.service import EXAMPLES as EXAMPLES_OF_SERVICE
from wizard.cli.service import add_service
from wizard.cli.usage_errors import Parser
from wizard.kernel.errors import EXIT_CODES
from wizard.kernel.language import mark, tr
from wizard.kernel.text import width
from wizard.plan.questions import (
    KV_DTYPE,
    MAX_TOKENS,
    PP,
    QUANTIZATION,
    SEED,
    STACK,
    TEMPERATURE,
    TOP_P,
    TP,
)

EXAMPLES = (
    ("", mark("the full-screen wizard")),
    (" --plain", mark("the same questions as plain prompts; works with screen readers")),
    (" web", mark("the full-screen wizard in a browser")),
    (" up demo --yes", mark("serve the offline demo model without prompting")),
    (' chat -m "What is Triton?"', mark("send the served model one question")),
    (" down", mark("stop the server")),
)
"""Arguments of an example → its description."""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    translate_argparse()
    codes = "\n".join(f"  {code:>3}  {tr(meaning)}" for code, meaning in EXIT_CODES.items())
    column = max(width(words) for words, _ in EXAMPLES) + 2
    examples = [f"  triton-wizard{words:<{column}}{tr(meaning)}" for words, meaning in EXAMPLES]
    top = Parser(
        prog="triton-wizard",
        description=tr("From a bare machine to chatting with a model that you serve yourself on NVIDIA Triton."),
        epilog="\n".join([tr("examples:"), *examples, "", tr("exit statuses:"), codes, ""]),
        formatter_class=Help,
    )
    version = f"triton-wizard {__version__}"
    top.add_argument("--version", action="version", version=version, help=tr("show the version and exit"))
    add_explain(top, default=False)
    top.add_argument("--plain", action="store_true", help=tr("use plain prompts instead of the full-screen wizard"))
    add_answers(top)
    add_common(top)
    add_constraints(top)
    commands = top.add_subparsers(metavar="COMMAND", dest="command")
    for add in (_add_stages, _add_run, _add_server, _add_rest):
        add(commands)
    return top


def _add_stages(commands: Commands) -> None:
    probe = add_command(
        commands, "probe", tr("describe this machine"), "probe\nprobe --save host.json\nprobe --watch 10"
    )
    probe.add_argument(
        "--save", metavar="FILE", help=tr("write the description to FILE, for use with --hardware on another machine")
    )
    watch = tr("monitor this machine every S seconds (5) until Ctrl-C")
    measure = tr("measure how fast the CPU reads memory and computes (5 s), so that `advise` can estimate its speed")
    probe.add_argument("--measure", action="store_true", help=measure)
    probe.add_argument("--watch", metavar="S", nargs="?", type=whole, const=5, help=watch)
    ref_help = tr("a recipe (demo), a model ID (org/name), a folder, or a .gguf file")
    model = add_command(commands, "model", tr("describe a model"), "model demo\nmodel ./my-model --json")
    model.add_argument("ref", metavar="MODEL", help=ref_help)
    advise = add_command(
        commands,
        "advise",
        tr("recommend what to run on this machine, and why"),
        "advise demo --users 8 --json\nadvise ./my-model --hardware 2xL40S\nadvise --cases fleet.yaml --json",
    )
    bare = tr(
        "a recipe (demo), a model ID (org/name), a folder, or a .gguf file; if the folder contains only a "
        "config.json, quantization that config.json does not declare may go undetected, because it is read from "
        "hf_quant_config.json and the weight headers"
    )
    advise.add_argument("ref", nargs="?", type=not_empty, metavar="MODEL", help=bare)
    advise.add_argument("--top", type=whole, default=None, metavar="N", help=tr("show only the best N choices"))
    advise.add_argument("--explain", action="store_true", help=tr("show the formula and source of each number"))
    pareto = tr("show the setups on the Pareto front of speed per user and throughput, each with its load")
    advise.add_argument("--pareto", action="store_true", help=pareto)
    advise.add_argument(
        "--cases", metavar="FILE", help=tr("instead of MODEL: machines, models and requests from a YAML file")
    )
    add_constraints(advise, argparse.SUPPRESS)
    _add_speed(commands, ref_help)
    plan = add_command(
        commands,
        "plan",
        tr("show every step and command before anything runs"),
        "plan demo\nplan demo --json > plan.json\nplan tutorial-000 --hardware 1xL4 --shell > serve.sh",
    )
    plan.add_argument("ref", nargs="?", type=not_empty, metavar="MODEL", help=tr(BEST))
    plan.add_argument(
        "--shell", action="store_true", help=tr("print the plan as a shell script that runs without the wizard")
    )
    plan.add_argument("--full", action="store_true", help=tr("include the full text of generated files"))
    add_explain(plan)
    add_plan_flags(plan)
    add_constraints(plan, argparse.SUPPRESS)


def _add_speed(commands: Commands, ref_help: str) -> None:
    speed = add_command(
        commands,
        "speed",
        tr("estimate the speed of one configuration, with a range and the source"),
        "speed ./my-model --hardware 8xH100 --stack vllm --tp 4 --concurrency 32 --quantization fp8",
    )
    speed.add_argument("ref", metavar="MODEL", help=ref_help)
    for question, lower in (
        (STACK, STACK.options[0]),
        (TP, "1"),
        (PP, "1"),
        (QUANTIZATION, tr("the model's default")),
        (KV_DTYPE, "auto"),
    ):
        add_flag(speed, question, lower=lower)
    speed.add_argument("--concurrency", type=whole, default=1, metavar="N", help=tr("concurrent users (1)"))
    speed.add_argument("--isl", type=whole, default=1024, metavar="N", help=tr("tokens per prompt (1024)"))
    speed.add_argument("--osl", type=whole, default=256, metavar="N", help=tr("tokens per answer (256)"))
    speed.add_argument(
        "--dtype",
        choices=("bfloat16", "float16"),
        help=tr("data type of the unquantized parts (default: the model's own)"),
    )
    speed.add_argument(
        "--provider",
        choices=("roofline", "aiconfigurator"),
        default="roofline",
        help=tr(
            "estimator: built-in, or NVIDIA's aiconfigurator-core (requires the `perf` extra; takes a few seconds)"
        ),
    )


def _add_run(commands: Commands) -> None:
    run = add_command(commands, "run", tr("execute a saved plan"), "run plan.json\nrun plan.json --yes --json")
    run.add_argument("plan", metavar="PLAN", help=tr("the output of `plan --json`; - for standard input"))
    run.add_argument("--verbose", action="store_true", help=tr("show all output of the steps"))
    run.add_argument(
        "--redo",
        action="append",
        metavar="STEP",
        help=tr("rerun this step and every step that uses its results; repeatable"),
    )
    run.add_argument("--skip", action="append", metavar="STEP", help=tr("skip this step; repeatable"))
    run.add_argument("--yes", action="store_true", help=tr("run the plan without confirmation"))
    add_verify(run)
    add_keep(run)
    add_exposure(run)
    examples = "up demo --yes\nup ./model.gguf --name mine --yes --json"
    up = add_command(commands, "up", tr("set up and serve a model"), examples)
    up.add_argument("ref", nargs="?", type=not_empty, metavar="MODEL", help=tr(BEST))
    up.add_argument("--yes", action="store_true", help=tr("accept the plan without confirmation"))
    up.add_argument("--verbose", action="store_true", help=tr("show all output of the steps"))
    add_verify(up)
    add_keep(up)
    add_explain(up)
    add_plan_flags(up)
    add_exposure(up)
    add_constraints(up, argparse.SUPPRESS)
    demo = add_command(commands, "demo", tr("serve the offline demo, send it one question, and stop it"), "demo")
    demo.add_argument("--verbose", action="store_true", help=tr("show all output of the steps"))
    _add_builds(commands)


def _add_builds(commands: Commands) -> None:
    """The commands for builds, which continue when their window is closed."""
    which = tr("the server that is built (default: the running build, else the last one)")
    about = tr("watch a build from its beginning to its end; Ctrl-C leaves the view only")
    attach = add_command(commands, "attach", about, "attach\nattach demo --verbose\nattach --json")
    attach.add_argument("name", nargs="?", metavar="NAME", help=which)
    attach.add_argument("--verbose", action="store_true", help=tr("show all output of the steps"))
    about = tr("stop the running build; completed steps are kept")
    cancel = add_command(commands, "cancel", about, "cancel\ncancel demo")
    cancel.add_argument("name", nargs="?", metavar="NAME", help=tr("only if it is the build of this server"))


def _add_server(commands: Commands) -> None:
    which = tr("a server in the workspace (default: the only one)")
    examples = "status\nstatus --json\nstatus --verify"
    status = add_command(commands, "status", tr("show the servers and whether they are ready"), examples)
    add_verify(status)
    logs = add_command(commands, "logs", tr("show a server's log"), "logs\nlogs demo -n 500 --raw")
    logs.add_argument("name", nargs="?", metavar="NAME", help=which)
    logs.add_argument("-n", "--lines", type=whole, default=100, metavar="N", help=tr("show the last N lines (100)"))
    logs.add_argument(
        "--step", metavar="STEP", help=tr("show the log of a step instead (environment, model, question …)")
    )
    logs.add_argument(
        "--raw", action="store_true", help=tr("include lines that are only noise on a machine without a GPU")
    )
    logs.add_argument(
        "--times", action="store_true", help=tr("begin each line of a step's log with the time when it came")
    )
    about = tr("find known causes of failure in any log, and how to fix them")
    example = "diagnose server.log\ndiagnose server.log --json\ndiagnose - < server.log"
    diagnose = add_command(commands, "diagnose", about, example)
    diagnose.add_argument("log", metavar="LOG", help=tr("a file (- for standard input)"))
    down = add_command(commands, "down", tr("stop a server and free its ports"), "down\ndown demo\ndown --all")
    which_ones = down.add_mutually_exclusive_group()
    which_ones.add_argument("name", nargs="?", metavar="NAME", help=which)
    which_ones.add_argument("--all", action="store_true", help=tr("stop every server in the workspace"))
    boot = tr("start a server with the machine, by systemd")
    add_service(add_command(commands, "service", boot, EXAMPLES_OF_SERVICE))
    chat = add_command(
        commands,
        "chat",
        tr("chat with a served model"),
        'chat\nchat -m "What is Triton?" --json\nchat < questions.txt\nchat --url http://127.0.0.1:11434\n'
        'chat demo --compare qwen3 -m "Why is the sky blue?" --json',
    )
    chat.add_argument("name", nargs="?", metavar="NAME", help=which)
    chat.add_argument(
        "--url",
        metavar="URL",
        help=tr(
            "chat with another server, full screen: Ollama, llama-server, LM Studio, vLLM, another Triton, or any "
            "OpenAI-compatible one"
        ),
    )
    plain = tr("with --url: use plain prompts instead of full screen")
    chat.add_argument("--plain", action="store_true", default=argparse.SUPPRESS, help=plain)
    chat.add_argument(
        "--model", metavar="NAME", help=tr("the model's name on that server; without full screen, needed for several")
    )
    chat.add_argument(
        "--tokenizer", metavar="FOLDER", help=tr("the model's folder with tokenizer.json and chat template, if needed")
    )
    chat.add_argument(
        "-m", "--message", metavar="TEXT", help=tr("send TEXT (- for all of standard input), print the answer and exit")
    )
    chat.add_argument(
        "--compare",
        metavar="NAME",
        help=tr("ask a second server, too, and compare them: NAME, URL or 'URL MODEL'; plain prompts"),
    )
    chat.add_argument("--system", metavar="TEXT", help=tr("system prompt"))
    for question in (TEMPERATURE, TOP_P, MAX_TOKENS, SEED):
        add_flag(chat, question)
    chat.add_argument("--thinking", metavar="MODE", help=tr("how much a thinking model thinks: off, on, low, high …"))
    chat.add_argument(
        "--no-thinking", dest="thinking", action="store_const", const="off", help=tr("the same as --thinking off")
    )
    chat.add_argument(
        "--preset",
        metavar="NAME",
        help=tr("a preset (system prompt and settings); run /preset in the chat to list all presets"),
    )
    chat.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help=tr(
            "any other setting, such as top_k=40 or stop=END (repeatable); run /set in the chat to list all settings"
        ),
    )
    tools = chat.add_mutually_exclusive_group()
    tools.add_argument(
        "--mcp", metavar="FILE", help=tr("use the tools of the MCP servers in FILE instead of your mcp.json")
    )
    tools.add_argument("--no-tools", action="store_true", help=tr("use no tools"))
    chat.add_argument(
        "--allow-tool",
        action="append",
        default=[],
        metavar="SERVER/TOOL",
        help=tr(
            "let the model call this tool without asking you (repeatable); without a terminal it can call no other"
        ),
    )
    chat.add_argument("--continue", dest="go_on", action="store_true", help=tr("continue the last conversation"))
    chat.add_argument("--private", action="store_true", help=tr("keep this conversation out of the history"))
    chat.add_argument(
        "--protocol", choices=("grpc", "http"), default="grpc", help=tr("protocol for requests to Triton (grpc)")
    )


def _add_rest(commands: Commands) -> None:
    add_bench(add_command(commands, "bench", tr("measure the speed of a served model"), EXAMPLES_OF_BENCH))
    add_bundle(add_command(commands, "bundle", tr("make one folder for a class without a network"), EXAMPLES_OF_BUNDLE))
    progress = tr("show or report the progress of a workshop's seats in a shared folder")
    add_workshop(add_command(commands, "workshop", progress, EXAMPLES_OF_WORKSHOP))
    _add_lint(commands)
    _add_web(commands)
    recipes = add_command(
        commands,
        "recipes",
        tr("list the ready-made recipes, or show one of them"),
        "recipes\nrecipes tutorial-000\nrecipes --json",
    )
    recipes.add_argument("name", nargs="?", metavar="NAME", help=tr("show this recipe and what was fixed in it"))
    _add_prerequisites(commands)
    about = tr("check this machine for problems, and show how to fix them")
    add_doctor(add_command(commands, "doctor", about, EXAMPLES_OF_DOCTOR))
    clean = add_command(
        commands,
        "clean",
        tr("list everything the wizard created, with sizes, or remove it"),
        "clean --dry-run\nclean --yes --keep-models",
    )
    how = clean.add_mutually_exclusive_group()
    how.add_argument("--yes", action="store_true", help=tr("remove everything (default: only list it)"))
    how.add_argument("--dry-run", action="store_true", help=tr("only list it (the default)"))
    clean.add_argument("--keep-models", action="store_true", help=tr("keep the downloaded models"))


def _add_web(commands: Commands) -> None:
    about = tr("open the full-screen wizard in a browser on this machine")
    web = add_command(commands, "web", about, "web\nweb --port 9000 --no-open")
    listen = tr("port on 127.0.0.1 to listen on (default: any free port)")
    web.add_argument("--port", type=partial(port, last=65535), metavar="P", help=listen)
    web.add_argument("--no-open", action="store_true", help=tr("only print the address"))
    add_answers(web, default=argparse.SUPPRESS)
    add_explain(web)


def _add_prerequisites(commands: Commands) -> None:
    parser = add_command(
        commands,
        "prerequisites",
        tr("show what this machine lacks for GPU containers, and how to install it"),
        "prerequisites\nprerequisites --json\nprerequisites --run toolkit",
    )
    parser.add_argument(
        "--run",
        choices=("driver", "engine", "toolkit"),
        help=tr("run the commands that install this prerequisite, after confirmation"),
    )
    parser.add_argument("--yes", action="store_true", help=tr("run the commands without confirmation"))


def _add_lint(commands: Commands) -> None:
    lint = add_command(
        commands,
        "lint",
        tr("check a Triton model repository for problems before starting a server"),
        "lint ./model_repository\n"
        "lint ./model_repository --server-version 24.09-trtllm-python-py3 --hardware 1xL4 --json\n"
        "lint ./model_repository --mount /data/engines:/engines",
    )
    lint.add_argument("repository", metavar="DIR", help=tr("the model repository: a folder with one folder per model"))
    lint.add_argument("--server-version", metavar="V", help=tr("tag of NVIDIA's image: 24.09, 24.09-trtllm-python-py3"))
    lint.add_argument("--backends", metavar="B,B", help=tr("the server's backends, if they differ from the image's"))
    lint.add_argument(
        "--mount",
        action="append",
        default=[],
        metavar="HERE:/THERE",
        help=tr("map a folder on this machine to the path where the server sees it"),
    )
