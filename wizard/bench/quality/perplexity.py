"""Perplexity and KL divergence of GGUF files by llama.cpp's own tool, ``llama-perplexity``.

Its options: tools/perplexity/README.md of llama.cpp. No package that the wizard installs has the program.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

from wizard.bench.bench import STOPPED
from wizard.bench.environment import unwritable
from wizard.bench.folder import Folder
from wizard.bench.prompts import CHARACTERS
from wizard.bench.quality.perplexity_output import ENDS, NAN, complete, taken
from wizard.bench.quality.report import Divergence, Perplexity, Quality
from wizard.kernel.errors import HostError, StepError, UsageError, WizardError, WorkspaceError
from wizard.kernel.language import tr
from wizard.kernel.process import Child
from wizard.kernel.reasons import unreadable
from wizard.kernel.secrets import environment_for, redact
from wizard.kernel.text import one_line, plain
from wizard.kernel.units import size
from wizard.model.gguf import read as read_gguf
from wizard.run.events import Event, Progress, StepFinished, StepStarted

PROGRAM = "llama-perplexity"
CONTEXT = 512
"""Tokens of a chunk, llama.cpp's default, so that figures compare with those that others publish."""
UNFIT = re.compile(r".*(?:you need at least|inconsistent vocabulary|is too short|failed to open|does not look like).*")
WHY = re.compile(r".*(?:error|failed|unable|invalid).*", re.IGNORECASE)
LOGGED = re.compile(r"^[\d.]+ [A-Z] ")
"""Time and level before a message."""


@dataclass(frozen=True, slots=True)
class Files:
    """What to compare: a GGUF file, on a text, with a reference if there is one."""

    program: str
    file: Path
    text: Path
    reference: Path | None = None


def program_of(named: str | None) -> str:
    """The path of llama-perplexity: ``named``, or on PATH.

    Raises:
        HostError: TW-C94 if there is none.
    """
    path = shutil.which(str(Path(named).expanduser()) if named else PROGRAM)
    if path is None:
        raise HostError(
            "TW-C94",
            tr("{program} was not found", program=named or PROGRAM),
            tr(
                "It is part of llama.cpp: install a release of https://github.com/ggml-org/llama.cpp, or "
                "`brew install llama.cpp`, or build it (docs/quality.md). Then pass --llama-perplexity PATH."
            ),
        )
    return path


def checked(files: Files) -> int:
    """Check that all files are readable, and that both models have the same vocabulary; returns its size, or 0.

    Raises:
        ModelError: A model is not a readable GGUF file, see `wizard.model.gguf.read`.
        UsageError: TW-C96 if the text or the pair of models cannot be used.
    """
    sizes = [read_gguf(path).vocabulary or 0 for path in (files.file, files.reference) if path]
    if len(set(sizes)) > 1:
        raise unfit(
            files.file, tr("the vocabularies have {first:,} and {second:,} tokens", first=sizes[0], second=sizes[1])
        )
    try:
        files.text.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = unreadable(error) if isinstance(error, OSError) else tr("it is not UTF-8 text")
        raise unfit(files.text, why) from error
    return sizes[0]


async def reported(order: Quality, files: Files, folder: Folder) -> AsyncGenerator[Event | Quality, None]:
    """Measure ``files``; yields events, and the report at the end, which is in ``folder``, too.

    Raises:
        As `measured`; UsageError TW-C69 if the folder has a report; WorkspaceError TW-C68 if it is not writable, or too
        small for the reference's predictions.
    """
    vocabulary = checked(files)
    folder.make()
    _check_space(files, vocabulary, folder.root)
    step, began = "quality-perplexity", time.monotonic()
    yield StepStarted(step, tr("Perplexity of {file}", file=files.file.name), 1, 1, time.time())
    try:
        async with aclosing(measured(files, folder.root)) as items:
            async for run, known in items:
                order = replace(order, perplexity=known)
                yield _progress(step, run, 2 if files.reference else 1, known)
    except WizardError as error:
        _keep_partial(order, folder, error.code)
        yield StepFinished(step, "failed", time.monotonic() - began, error.what, time.time(), error=error.as_json())
        raise
    except (asyncio.CancelledError, GeneratorExit):
        _keep_partial(order, folder, STOPPED)
        raise
    folder.keep(order)
    yield StepFinished(step, "done", time.monotonic() - began, "", time.time())
    yield order


def _progress(step: str, run: int, runs: int, known: Perplexity) -> Progress:
    text = tr(
        "run {number} of {runs}: {done} of {count} chunks",
        number=run + 1,
        runs=runs,
        done=known.chunks,
        count=known.of,
    )
    return Progress(step, (run + known.chunks / max(known.chunks, known.of, 1)) / runs, None, text, time.time())


def _keep_partial(report: Quality, folder: Folder, why: str) -> None:
    """Write what was printed so far, if it has a figure."""
    if report.perplexity and report.perplexity.chunks:
        folder.keep(replace(report, partial=why))


def _check_space(files: Files, vocabulary: int, folder: Path) -> None:
    """The predictions of the reference take 2 bytes for each token of the vocabulary (perplexity.cpp, ``log_softmax``),
    for each token in the second half of the chunks.
    """
    if files.reference is None:
        return
    need = files.text.stat().st_size // CHARACTERS // 2 * vocabulary * 2
    free = shutil.disk_usage(folder).free
    if need > free:
        message = tr(
            "the reference's predictions take about {need}; only {free} are free in {folder}",
            need=size(need),
            free=size(free),
            folder=folder,
        )
        raise WorkspaceError(
            "TW-C68",
            message,
            tr("Free some space, choose another folder with --out DIR, or a shorter text with --text FILE."),
        )


async def measured(files: Files, folder: Path) -> AsyncGenerator[tuple[int, Perplexity], None]:
    """Run llama-perplexity, first for the reference if there is one; yields the run, and all figures so far, whenever
    there are more. Closing it stops the program.

    Args:
        files: What to compare.
        folder: For the log, and for the reference's predictions, which are removed at the end.

    Raises:
        UsageError: TW-C96 if the text is too short, or the files have different vocabularies.
        StepError: TW-C95 if it fails, or predicts no numbers.
        WorkspaceError: TW-C68 if the log cannot be written.
    """
    base = folder / "reference.kld"
    log = folder / f"{PROGRAM}.log"
    common = (files.program, "-c", str(CONTEXT), "-f", str(files.text))
    runs: list[tuple[str, ...]] = [(*common, "-m", str(files.file))]
    if files.reference:
        store = ("--kl-divergence-base", str(base))
        runs = [(*common, "-m", str(files.reference), *store), (*runs[0], *store, "--kl-divergence")]
    known = _unknown(files)
    try:
        for number, argv in enumerate(runs):
            lines: list[str] = []
            async with aclosing(_output(argv, log)) as output:
                async for line in output:
                    if NAN.search(line):
                        raise _no_numbers(files, number, log)
                    lines.append(line)
                    before, known = known, taken(known, line)
                    if known != before:
                        yield number, known
            _check(lines, files)
    finally:
        base.unlink(missing_ok=True)
    if not complete(known):
        raise failed(tr("its output has no result"), log)


def _unknown(files: Files) -> Perplexity:
    """The result before anything is known."""
    digest = hashlib.sha256(files.text.read_bytes()).hexdigest()
    other = Divergence(str(files.reference)) if files.reference else None
    return Perplexity(str(files.file), str(files.text), digest, CONTEXT, 0, None, other)


async def _output(argv: tuple[str, ...], log: Path) -> AsyncGenerator[str, None]:
    try:
        child = await Child.start(argv, env=environment_for())
    except OSError as error:
        raise failed(error.strerror or str(error), log) from error
    try:
        with log.open("a", encoding="utf-8") as file:
            async for lines in child.output(ENDS):
                for line in lines:
                    text = redact(plain(line.text))
                    file.write(text + "\n")
                    yield text
                file.flush()
        status = await child.wait()
    except OSError as error:
        raise unwritable(log, error) from error
    finally:
        await child.stop()
    if status:
        yield f"error: exit status {status}"


def _check(lines: list[str], files: Files) -> None:
    """Raise what went wrong in a run: the program's exit status is 0 for some of it."""
    for line in lines:
        if UNFIT.fullmatch(line):
            raise unfit(files.file, _message(line))
    if lines and lines[-1].startswith("error: exit status"):
        why = next((line for line in lines if WHY.fullmatch(line)), lines[-1])
        raise failed(_message(why), None)


def _message(line: str) -> str:
    return LOGGED.sub("", one_line(line).strip())


def unfit(path: Path, why: str) -> UsageError:
    """The error for files that cannot be compared."""
    message = tr("cannot measure {path}: {why}", path=path, why=why)
    todo = tr("Both files must be of the same model. The text needs 1024 tokens at least (--text FILE).")
    return UsageError("TW-C96", message, todo)


def _no_numbers(files: Files, run: int, log: Path) -> WizardError:
    """The error for a model whose predictions are NaN; llama-perplexity itself goes on to the end of the text."""
    file = files.reference if files.reference and run == 0 else files.file
    why = tr("the predictions of {file} are not numbers (NaN); the file may be damaged", file=file.name)
    return failed(why, log)


def failed(why: str, log: Path | None) -> WizardError:
    """The error for llama-perplexity itself."""
    todo = tr("Its output is in {log}.", log=log) if log else tr("Its output is in the folder of the report.")
    return StepError("TW-C95", tr("llama-perplexity failed: {why}", why=why), todo)
