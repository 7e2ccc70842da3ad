"""`triton-wizard bundle`: a folder from which a class without a network is installed."""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.cli.confirm import yes
from wizard.cli.stages import print_json
from wizard.kernel.errors import CancelledError, UsageError
from wizard.kernel.language import tr
from wizard.kernel.program import command
from wizard.kernel.text import is_terminal
from wizard.kernel.units import size

if TYPE_CHECKING:
    from wizard.workshop.bundle import Manifest, Order
    from wizard.workshop.gather import Added, Outlook

EXAMPLES = (
    "bundle --out class\n"
    "bundle --out class --python 3.11,3.12 --stack llamacpp,vllm --model Qwen/Qwen3-0.6B\n"
    "bundle verify class\nbundle install class"
)


def add_bundle(parser: argparse.ArgumentParser) -> None:
    """The flags of ``bundle``."""
    about = tr("verify: compare every file with the manifest; install: set up this seat; without it: make a bundle")
    parser.add_argument("action", nargs="?", choices=("verify", "install"), metavar="verify|install", help=about)
    parser.add_argument("folder", nargs="?", metavar="FOLDER", help=tr("the bundle to verify or install"))
    making = parser.add_argument_group(tr("make a bundle"))
    making.add_argument("--out", metavar="FOLDER", help=tr("the folder for it; an existing bundle is extended"))
    running = "{}.{}".format(*sys.version_info[:2])
    making.add_argument(
        "--python",
        metavar="V,V",
        type=_list,
        default=(running,),
        help=tr("Python versions of the seats (default: this one)"),
    )
    making.add_argument(
        "--machine", metavar="M", default=platform.machine(), help=tr("processor of the seats: x86_64, aarch64")
    )
    making.add_argument("--stack", metavar="S,S", type=_list, help=tr("serving stacks (llamacpp)"))
    making.add_argument(
        "--environment",
        metavar="E,E",
        type=_list,
        default=(),
        help=tr("further environments: aiperf for `bench`, vllm-cuda12"),
    )
    making.add_argument(
        "--model",
        metavar="REF",
        action="append",
        default=[],
        help=tr("a model to include (repeatable); the demo model always is"),
    )
    making.add_argument("--notebooks", metavar="DIR", help=tr("notebooks to include instead of the wizard's"))
    installing = parser.add_argument_group(tr("install a bundle"))
    installing.add_argument(
        "--to", metavar="DIR", default="~/triton-workshop", help=tr("folder for the notebooks (~/triton-workshop)")
    )
    parser.add_argument(
        "--yes",
        action="store_true",
        help=tr("confirm the downloads; when installing, keep changed notebooks without asking"),
    )


def _list(text: str) -> tuple[str, ...]:
    items = tuple(dict.fromkeys(filter(None, (item.strip() for item in text.split(",")))))
    if not items:
        raise argparse.ArgumentTypeError(tr("must not be empty"))
    return items


def bundle(arguments: argparse.Namespace) -> int:
    """`triton-wizard bundle`."""
    if arguments.action is None:
        return _make(arguments)
    if not arguments.folder or arguments.out:
        raise UsageError(
            "TW-B09",
            tr("`bundle {action}` needs the bundle's folder", action=arguments.action),
            tr("Use `bundle {action} FOLDER`.", action=arguments.action),
        )
    return _verify(arguments) if arguments.action == "verify" else _install(arguments)


def _make(arguments: argparse.Namespace) -> int:
    from wizard import journey

    if not arguments.out:
        raise UsageError(
            "TW-B09",
            tr("a bundle needs a folder"),
            tr("Pass --out FOLDER, or use `bundle verify FOLDER` or `bundle install FOLDER`."),
        )
    folder = Path(arguments.out).expanduser()
    outlook = journey.bundle_outlook(_order(arguments), folder, offline=arguments.offline)
    _announce(outlook, folder)
    if not arguments.yes and (outlook.download or outlook.copied or outlook.unknown) and not yes(tr("Continue?")):
        raise CancelledError("TW-U06", tr("the bundle was not accepted"), tr("Nothing was downloaded."))
    try:
        for item in journey.bundle(outlook, folder):
            _show(arguments, folder, item)
    except KeyboardInterrupt:
        message = tr("stopped; what is complete is kept in {folder}", folder=folder)
        raise CancelledError("TW-U07", message, tr("Run the same command to continue.")) from None
    print(tr("Seats without a wizard: python3 {path}", path=folder / "install.py"), file=sys.stderr)
    return 0


def _show(arguments: argparse.Namespace, folder: Path, item: Added | Manifest) -> None:
    from wizard.workshop.gather import Added

    if isinstance(item, Added):
        count = f" {item.done}/{item.total}" if item.total else ""
        print(f"{item.part}: {item.name}{count}", file=sys.stderr, flush=True)
    elif arguments.json:
        print_json(item)
    else:
        print(tr("{folder}: {count} files, {size}", folder=folder, count=len(item.files), size=size(item.size)))


def _order(arguments: argparse.Namespace) -> Order:
    from wizard.catalog.stacks import cpu_stacks, names
    from wizard.workshop.bundle import Order

    stacks: tuple[str, ...] = cpu_stacks() if arguments.stack is None else arguments.stack
    if unknown := [stack for stack in stacks if stack not in names()]:
        raise UsageError(
            "TW-B09",
            tr("unknown stack: {stack!r}", stack=unknown[0]),
            tr("Available: {names}.", names=", ".join(names())),
        )
    for version in arguments.python:
        major, _, minor = version.partition(".")
        if major != "3" or not minor.isdecimal():
            raise UsageError(
                "TW-B09",
                tr("{version!r} is not a Python version", version=version),
                tr("Pass versions such as 3.11,3.12."),
            )
    notebooks = Path(arguments.notebooks).expanduser() if arguments.notebooks else None
    if notebooks and not notebooks.is_dir():
        raise UsageError("TW-B09", tr("{path} is not a folder", path=notebooks), tr("Pass a folder with notebooks."))
    return Order(arguments.python, arguments.machine, stacks, arguments.environment, tuple(arguments.model), notebooks)


def _announce(outlook: Outlook, folder: Path) -> None:
    lines = []
    for each in outlook.packages:
        state = (
            tr("complete")
            if not each.lacking
            else tr(
                "{count} of {total} packages to download",
                count=len(each.lacking),
                total=len(each.lacking) + len(each.there),
            )
        )
        lines.append(f"{each.environment.name}, {each.target}: {state}")
    lines += [f"{each.model.ref}: {size(each.size or None)}" for each in outlook.models]
    lines += [f"{each.image.name}: {size(each.size or None)}" for each in outlook.images]
    known = tr(
        "up to {download} to download, {copied} to copy; {folder} has {free} free",
        download=size(outlook.download),
        copied=size(outlook.copied),
        folder=folder,
        free=size(outlook.free),
    )
    lines.append(known + (tr("; some sizes are unknown") if outlook.unknown else ""))
    print("\n".join(lines), file=sys.stderr, flush=True)


def _verify(arguments: argparse.Namespace) -> int:
    from wizard import journey
    from wizard.workshop.seat import KINDS

    verified = journey.bundle_verify(Path(arguments.folder).expanduser())
    if arguments.json:
        print_json(verified)
    else:
        for problem in verified.problems:
            print(f"{tr(KINDS[problem.kind])}: {problem.path}")
        files = verified.manifest.files
        print(
            tr(
                "{count} files, {size}, problems: {problems}",
                count=len(files),
                size=size(verified.manifest.size),
                problems=len(verified.problems),
            )
        )
        print(f"bundle.json: sha256 {verified.sha256}")
    return UsageError.exit_code if verified.problems else 0


def _install(arguments: argparse.Namespace) -> int:
    from wizard import journey

    folder, to = Path(arguments.folder).expanduser(), Path(arguments.to).expanduser()

    def replace(changed: tuple[str, ...]) -> bool:
        print("\n".join([tr("You changed these notebooks:"), *changed]), file=sys.stderr)
        return not (arguments.yes or not is_terminal() or yes(tr("Keep yours?")))

    print(tr("Checking the bundle …"), file=sys.stderr, flush=True)
    installed = journey.bundle_install(folder, to.resolve(), replace)
    if arguments.json:
        print_json(installed)
        return 0
    rows = [(tr("Packages"), str(Path(installed.folder, "wheels")))]
    rows += [(tr("Notebooks"), installed.notebooks)] if installed.notebooks else []
    rows += [(tr("Model"), ref) for ref in installed.models]
    rows += [(tr("Image"), name) for name in installed.images]
    rows += [(tr("No container engine for"), name) for name in installed.not_loaded]
    rows += [(tr("Kept yours"), path) for path in installed.kept]
    print("\n".join(f"{label}: {value}" for label, value in rows), flush=True)
    jupyter = Path(sys.executable).with_name("jupyter")
    if installed.notebooks and jupyter.exists():
        lab = shlex.join([str(jupyter), "lab", installed.notebooks])
        print(tr("Open the notebooks: {command}", command=lab), file=sys.stderr)
    if (activate := Path(sys.executable).with_name("activate")).exists():
        shell = shlex.join([".", str(activate)])
        print(tr("Use `triton-wizard` without its path: {command}", command=shell), file=sys.stderr)
    print(tr("Next: {command}", command=command("up", "demo")), file=sys.stderr)
    return 0
