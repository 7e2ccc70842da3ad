"""The Hugging Face Hub: the only file that imports ``huggingface_hub``, and only inside its functions.

Files on disk are used first. All access to the Hub ends within `DEADLINE` seconds, even if a name server, a connection
or a response hangs: it runs in a thread that is abandoned then (the system has no time limit for name lookups). A token
comes from ``HF_TOKEN`` or an earlier ``hf auth login``; it is never passed as an argument.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wizard.kernel.errors import ModelError, NetworkError, WizardError
from wizard.kernel.language import tr
from wizard.model import cache, chat_format, gguf, gguf_files, gguf_parts, local, task, weights
from wizard.model.cache import endpoint
from wizard.model.chat_format import ChatFormat
from wizard.model.facts import GgufFile, ModelFacts, WeightFile
from wizard.model.hub_errors import offline_error, silent, translated
from wizard.model.refs import HubRef
from wizard.model.safetensors import Tensor
from wizard.model.untrusted import LARGEST_JSON, label, read_object

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import ModelInfo
    from huggingface_hub.utils import TensorInfo

T = TypeVar("T")

DEADLINE = 9.0
"""Seconds for all Hub access of a lookup."""
REQUEST = 4.0
"""Seconds for a connection, and for each wait for bytes."""
LARGEST_BEGINNING = 16 << 20
"""Maximum number of bytes to read of a remote GGUF file; vocabularies of 150,000 tokens take about 6 MB."""
BEGINNING_SECONDS = 4.0
"""After this time the received part of a GGUF header must be sufficient: the model's shape is at its very beginning."""
HEADER_SECONDS = 3.0
"""Headers of a model's shards that have not arrived by then are skipped."""
_PARALLEL_HEADERS = 8


def find(ref: HubRef, *, offline: bool = False) -> ModelFacts:
    """Facts of a repository: from the cache if it has the weights, else from the Hub, else from earlier lookups.

    Raises:
        ModelError: TW-M11 unknown repository or revision; TW-M12 gated or forbidden; TW-M15 offline and not on this
            disk; TW-M16 no usable file; TW-M06 only pickle files; TW-M04, TW-M05, TW-M09 damaged.
        NetworkError: TW-M13 the Hub does not respond; TW-M14 it responds with an error.
    """
    if facts := cache.complete(ref):
        return facts
    variable = _offline_variable()
    if offline or variable:
        if facts := cache.kept(ref, tr("offline mode is on, so the Hub was not contacted")):
            return facts
        raise offline_error(ref, None if offline else variable)
    try:
        facts = _within(DEADLINE, lambda: _ask(ref), ref)
    except NetworkError as error:
        if facts := cache.kept(ref, tr("the Hub does not respond")):
            return facts
        raise error
    cache.keep(ref, facts)
    return facts


def reachable(timeout: float = 3.0) -> bool:
    """Whether the Hub responds within ``timeout`` seconds; False in offline mode."""
    if _offline_variable():
        return False
    from huggingface_hub.utils import get_session  # half a second for the first import, unrelated to the Hub

    def ask() -> bool:
        return int(get_session().head(endpoint(), timeout=timeout).status_code) < 500

    try:
        return _within(timeout, ask, None)
    except WizardError:
        return False


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result, with the Hub's metadata; None if it has none."""

    repo: str
    downloads: int | None
    """In the last 30 days."""
    licence: str | None
    gated: bool
    parameters: int | None
    gguf: bool
    """Whether it has GGUF files, which the CPU can serve."""


def search(text: str, *, offline: bool = False, limit: int = 20) -> list[Hit]:
    """Models for text generation whose name contains ``text``, the most downloaded first.

    Raises:
        NetworkError: TW-M13 the Hub does not respond in time, or offline mode is on; TW-M14 it responds with an error.
    """
    if offline or _offline_variable():
        raise NetworkError(
            "TW-M13",
            tr("offline mode is on, so the Hub is not contacted"),
            tr("To search the Hub, go online: omit --offline and unset HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE."),
        )
    return _within(DEADLINE, lambda: _search(text, limit), None)


def _search(text: str, limit: int) -> list[Hit]:
    """A single request: the client's own ``list_models`` retries for half a minute and prints messages to the
    terminal.
    """
    from huggingface_hub.hf_api import ModelInfo
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

    params: dict[str, Any] = {
        "search": text,
        "pipeline_tag": "text-generation",
        "sort": "downloads",
        "limit": limit,
        "expand": ["downloads", "gated", "gguf", "safetensors", "tags"],
    }
    response = get_session().get(
        f"{endpoint()}/api/models", params=params, headers=build_hf_headers(), timeout=REQUEST, follow_redirects=True
    )
    hf_raise_for_status(response)
    return [_hit(ModelInfo(**{"siblings": None, **item})) for item in response.json()[:limit]]


def _hit(info: ModelInfo) -> Hit:
    gguf: dict[str, Any] = info.gguf if isinstance(info.gguf, dict) else {}
    total = info.safetensors.total if info.safetensors else gguf.get("total")
    return Hit(
        repo=label(info.id, 200) or "",
        downloads=info.downloads if isinstance(info.downloads, int) else None,
        licence=_licence(info),
        gated=bool(info.gated),
        parameters=total if isinstance(total, int) and total > 0 else None,
        gguf="gguf" in (info.tags or ()),
    )


def gguf_of(repo: str) -> tuple[GgufFile, ...]:
    """GGUF files to choose among of the model in ``repo``: of the catalog's repository, or the most downloaded one that
    states ``repo`` as its origin; empty if there is none, or the Hub does not respond (≤ `DEADLINE`).
    """
    if _offline_variable():
        return ()
    try:
        return _within(DEADLINE, lambda: _gguf_of(repo), None)
    except WizardError:
        return ()


def _gguf_of(repo: str) -> tuple[GgufFile, ...]:
    from huggingface_hub import HfApi

    known = gguf_files.of_catalog(repo)
    names = [known[0].repo] if known else _quantized(repo)
    api = HfApi(endpoint=endpoint())
    for name in names:
        info = api.model_info(name, files_metadata=True, timeout=REQUEST)
        if files := gguf_files.listed(name, {str(file.rfilename): file.size for file in info.siblings or ()}):
            return files
    return ()


def _quantized(repo: str) -> list[str]:
    """The repositories with GGUF files whose model card states ``repo`` as their origin, the most downloaded first."""
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

    params: dict[str, Any] = {
        "filter": [f"base_model:quantized:{repo}", "gguf"],
        "sort": "downloads",
        "limit": 3,
    }
    response = get_session().get(
        f"{endpoint()}/api/models", params=params, headers=build_hf_headers(), timeout=REQUEST, follow_redirects=True
    )
    hf_raise_for_status(response)
    return [name for item in response.json() if (name := label(item.get("id"), 200))]


def has_token() -> bool:
    """Whether there is a token for the Hub: in the environment, or from an earlier ``hf auth login``."""
    from huggingface_hub import get_token

    return bool(get_token())


def download_command(repo: str, files: Sequence[str], revision: str | None, folder: str) -> tuple[str, ...]:
    """The argv that downloads ``files``, or if there are none all of a repository but pickle files, into ``folder``.

    It is huggingface_hub's own ``hf download`` (``huggingface_hub/cli/hf.py``), run with this interpreter, and resumes
    an earlier download. It reads its token from ``HF_TOKEN`` or the existing login.
    """
    command = [sys.executable, "-m", "huggingface_hub.cli.hf", "download", repo]
    command += files
    if not files:
        for pattern in ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.pkl", "original/*", "consolidated*"):
            command += ["--exclude", pattern]
    if revision:
        command += ["--revision", revision]
    return (*command, "--local-dir", folder)


def _offline_variable() -> str | None:
    """The variable that sets offline mode."""
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    return next((name for name in names if os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE")), None)


def _within(seconds: float, work: Callable[[], T], ref: HubRef | None) -> T:
    """Run ``work`` in a separate thread and wait for it for at most ``seconds``.

    Raises:
        WizardError: The wizard's error for the work's exception; TW-M13 if it is not finished in time.
    """
    done: list[T] = []
    failed: list[WizardError] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as error:
            failed.append(error if isinstance(error, WizardError) else translated(error, ref))

    thread = threading.Thread(target=run, name="hub", daemon=True)
    thread.start()
    thread.join(seconds)
    if done:
        return done[0]
    raise failed[0] if failed else silent(tr("no response within {seconds:.0f} s", seconds=seconds))


def _ask(ref: HubRef) -> ModelFacts:
    """Query the Hub; raises the client's exceptions."""
    from huggingface_hub import HfApi, constants
    from huggingface_hub.utils import disable_progress_bars, logging

    logging.set_verbosity_error()  # library warnings must not appear in a full-screen program
    if constants.HF_HUB_DISABLE_PROGRESS_BARS is None:
        disable_progress_bars()
    api = HfApi(endpoint=endpoint())
    info = api.model_info(ref.repo, revision=ref.revision, files_metadata=True, timeout=REQUEST)
    sizes = {str(file.rfilename): file.size for file in info.siblings or ()}
    facts = ModelFacts(
        str(ref),
        "hub",
        ref.repo,
        ref.name,
        None,
        None,
        revision=label(info.sha),
        licence=_licence(info),
        gated=bool(info.gated),
    )
    if task.PIPELINE in sizes and "config.json" not in sizes and not ref.file:
        return replace(facts, task="diffusion")
    if (file := _gguf_file(ref, sizes)) is not None:
        facts = _gguf_facts(facts, ref, file, sizes, info)
        return replace(facts, gguf=() if ref.file or ref.type else gguf_files.listed(ref.repo, sizes))
    return _safetensors_facts(facts, ref, sizes, info, api)


def _gguf_file(ref: HubRef, sizes: dict[str, int | None]) -> str | None:
    """The GGUF file to use; None if the repository has safetensors weights.

    Raises:
        ModelError: TW-M16 if there is no usable file; TW-M06 if there are only pickle files.
    """
    if ref.file:
        if absent := gguf_parts.missing(ref.file, sizes):
            raise _nothing(ref, tr("{repo} has no file {file}", repo=ref.repo, file=absent[0]), sizes)
        return gguf_parts.parts(ref.file)[0]
    if ref.type:
        if (typed := gguf_files.of_type(sizes, ref.type)) is None:
            lacks = _lacks(ref, sizes) or tr("{repo} has no {type} file", repo=ref.repo, type=ref.type)
            raise _nothing(ref, lacks, sizes)
        return typed
    if "config.json" in sizes and local.loaded_files(list(sizes)):
        return None
    files = [name for name in sizes if local.weight_format(name) == "gguf"]
    if chosen := gguf_files.preferred(files):
        return chosen
    if not files and any(local.weight_format(name) == "pickle" for name in sizes):
        raise local.only_pickle(str(ref))
    if files:
        several = tr("{repo} contains {count} .gguf files", repo=ref.repo, count=len(files))
        raise _nothing(ref, several if gguf_files.whole(files) else _lacks(ref, sizes) or several, sizes)
    raise _nothing(ref, tr("{repo} contains no usable weights", repo=ref.repo), sizes)


def _lacks(ref: HubRef, sizes: dict[str, int | None]) -> str | None:
    """The part of a split file that the repository lacks."""
    absent = gguf_files.absent(sizes, ref.type)
    return tr("{repo} has no file {file}", repo=ref.repo, file=absent[0]) if absent else None


def _nothing(ref: HubRef, message: str, sizes: dict[str, int | None]) -> ModelError:
    names = [name[:80] for name in gguf_files.whole(sizes)][:6]
    refs = ", ".join(f"{ref.repo}:{name}" for name in names)
    todo = tr("Choose one of its files: {names}.", names=refs) if names else tr("Choose another repository.")
    return ModelError("TW-M16", message, todo)


def _safetensors_facts(
    facts: ModelFacts, ref: HubRef, sizes: dict[str, int | None], info: ModelInfo, api: HfApi
) -> ModelFacts:
    """Facts from config.json and related files, the Hub's file list and the headers of the weights."""
    folder = _fetch_small_files(ref, sizes, api)
    facts = local.described(facts, folder)
    names = local.loaded_files(sorted(sizes))
    total = [sizes[name] for name in names]
    facts = replace(
        facts,
        weight_bytes=None if None in total else sum(size for size in total if size is not None),
        weights=tuple(WeightFile(name, sizes[name], "safetensors") for name in names),
    )
    elements = dict(info.safetensors.parameters) if info.safetensors else {}
    plain = facts.quantization is None and facts.anatomy is not None and "vision" not in facts.unknown
    if plain and sum(elements.values()) == facts.parameters:
        return weights.with_elements(facts, elements)  # the headers would add nothing
    tensors = _headers(api, ref, names)
    if tensors is None:
        why = tr(
            "the weight file headers ({count}) did not arrive within {seconds:.0f} s",
            count=len(names),
            seconds=HEADER_SECONDS,
        )
        return replace(weights.with_elements(facts, elements), unknown={**facts.unknown, "stored": why})
    counted = weights.with_tensors(
        facts, tensors, read_object(folder / "config.json"), tr("config.json of {ref}", ref=ref)
    )
    unused = sum(tensor.bytes for tensor in tensors) - (counted.weight_bytes or 0)
    return replace(counted, weight_bytes=None if facts.weight_bytes is None else max(facts.weight_bytes - unused, 0))


def _fetch_small_files(ref: HubRef, sizes: dict[str, int | None], api: HfApi) -> Path:
    """Download config.json and related files into the Hugging Face cache; return the snapshot's folder."""
    if (sizes["config.json"] or 0) > LARGEST_JSON:
        text = tr("config.json of {ref} is larger than 10 MB", ref=ref)
        raise ModelError("TW-M04", text, tr("Choose another repository."))
    names = [name for name in (*chat_format.FILES, *task.FILES) if name in sizes and (sizes[name] or 0) <= LARGEST_JSON]
    paths = [
        api.hf_hub_download(
            ref.repo, name, revision=ref.revision, cache_dir=str(cache.hub_cache()), etag_timeout=REQUEST
        )
        for name in ("config.json", *names)
    ]
    return Path(paths[0]).parent


def _headers(api: HfApi, ref: HubRef, names: list[str]) -> list[Tensor] | None:
    """The tensors of all files, from their headers; None if they do not arrive in time."""

    def read(name: str) -> list[Tensor]:
        got = api.parse_safetensors_file_metadata(ref.repo, name, revision=ref.revision, timeout=REQUEST)
        return [_tensor(tensor, each) for tensor, each in got.tensors.items()]

    headers = _at_once(names, read, HEADER_SECONDS)
    return None if headers is None else [tensor for header in headers for tensor in header]


def _at_once(names: Sequence[str], read: Callable[[str], T], seconds: float) -> list[T] | None:
    """What ``read`` returns for each of ``names``, in parallel; None if not all is there after ``seconds``.

    Raises:
        Exception: The exception of the first failed request.
    """
    waiting, done = iter(names), threading.Event()
    results: dict[str, T] = {}
    failed: list[Exception] = []

    def fetch() -> None:
        try:
            for name in waiting:  # an iterator over a list gives each item to exactly one thread
                if failed or done.is_set():
                    return
                results[name] = read(name)
                if len(results) == len(names):
                    done.set()
        except Exception as error:
            failed.append(error)
            done.set()

    for _ in range(min(_PARALLEL_HEADERS, len(names))):
        threading.Thread(target=fetch, name="hub-headers", daemon=True).start()
    complete = done.wait(seconds)
    done.set()
    if failed:
        raise failed[0]
    return [results[name] for name in names] if complete else None


def _tensor(name: str, info: TensorInfo) -> Tensor:
    begin, end = info.data_offsets
    return Tensor(name, str(info.dtype), tuple(info.shape), end - begin)


def _gguf_facts(facts: ModelFacts, ref: HubRef, file: str, sizes: dict[str, int | None], info: ModelInfo) -> ModelFacts:
    """Facts from the beginnings of a remote GGUF file's parts, and from the Hub's own metadata of it."""
    where, name = f"{ref.repo}:{file}", Path(gguf_parts.title(file)).stem
    facts = local.describe_gguf(replace(facts, name=name), _header(ref, file, sizes), where)
    gguf: dict[str, Any] = info.gguf if isinstance(info.gguf, dict) else {}
    unknown = dict(facts.unknown)
    if facts.parameters is None and isinstance(gguf.get("total"), int):
        facts = replace(facts, parameters=gguf["total"])
        unknown.pop("parameters", None)
    if facts.chat is None and (template := gguf.get("chat_template")) and isinstance(template, str):
        bos, eos = (gguf[key] if isinstance(gguf.get(key), str) else None for key in ("bos_token", "eos_token"))
        facts = replace(facts, chat=ChatFormat(template, bos, eos, (eos,) if eos else ()))
        unknown.pop("chat", None)
    files, size = gguf_files.weight_files(file, sizes), gguf_files.bytes_of(file, sizes)
    return replace(facts, weights=files, weight_bytes=facts.weight_bytes or size, unknown=unknown)


def _header(ref: HubRef, file: str, sizes: dict[str, int | None]) -> gguf.Header:
    """The header of ``file`` with those of its other parts, as far as they arrive in time."""
    first, *others = gguf_parts.parts(file)
    header = _beginning(ref, first, _size(sizes, first))
    if not others:
        return gguf.joined([header], f"{ref.repo}:{file}")
    more = _at_once(others, lambda name: _beginning(ref, name, _size(sizes, name)), HEADER_SECONDS)
    if more is None:
        return replace(header, parameters=None, weight_bytes=None, tensors=())
    return gguf.joined([header, *more], f"{ref.repo}:{file}")


def _size(sizes: dict[str, int | None], name: str) -> int:
    size = sizes.get(name)
    return sys.maxsize if size is None else size


def _beginning(ref: HubRef, file: str, total: int) -> gguf.Header:
    """Read as much of a remote GGUF file's header as arrives in time."""
    from huggingface_hub import hf_hub_url
    from huggingface_hub.utils import build_hf_headers, get_session, hf_raise_for_status

    url = hf_hub_url(ref.repo, file, revision=ref.revision, endpoint=endpoint())
    headers = {**build_hf_headers(), "Range": f"bytes=0-{LARGEST_BEGINNING - 1}", "Accept-Encoding": "identity"}
    where, raw, enough, started = f"{ref.repo}:{file}", bytearray(), 1 << 19, time.monotonic()
    with get_session().stream("GET", url, headers=headers, timeout=REQUEST) as response:
        hf_raise_for_status(response)
        for chunk in response.iter_bytes(1 << 16):
            raw += chunk
            late = time.monotonic() - started > BEGINNING_SECONDS or len(raw) >= LARGEST_BEGINNING
            if late or len(raw) >= enough:
                header = gguf.parse_beginning(bytes(raw), total, where)
                if late or header.parameters is not None:
                    return header
                enough = 2 * len(raw)
    return gguf.parse_beginning(bytes(raw), total, where)


def _licence(info: ModelInfo) -> str | None:
    """The model card's license, or its custom name if it is not a standard license."""
    card = info.card_data
    licence = label(getattr(card, "license", None), 60)
    if licence == "other":
        return label(getattr(card, "license_name", None), 60) or licence
    tags = (tag.removeprefix("license:") for tag in info.tags or () if str(tag).startswith("license:"))
    return licence or label(next(tags, None), 60)
