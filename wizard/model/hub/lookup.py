"""The facts of a repository, from what the Hub says of it and the beginnings of its files. Files on disk come first."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wizard.kernel.errors import ModelError, NetworkError
from wizard.kernel.language import tr
from wizard.model import cache, chat_format, gguf, gguf_files, gguf_parts, local, task, weights
from wizard.model.cache import endpoint
from wizard.model.chat_format import ChatFormat
from wizard.model.facts import ModelFacts, WeightFile
from wizard.model.hub.access import DEADLINE, REQUEST, licence_of, offline_variable, within
from wizard.model.hub.errors import offline_error
from wizard.model.refs import HubRef
from wizard.model.safetensors import Tensor
from wizard.model.untrusted import LARGEST_JSON, label, read_object

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import ModelInfo
    from huggingface_hub.utils import TensorInfo

T = TypeVar("T")

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
    variable = offline_variable()
    if offline or variable:
        if facts := cache.kept(ref, tr("offline mode is on, so the Hub was not contacted")):
            return facts
        raise offline_error(ref, None if offline else variable)
    try:
        facts = within(DEADLINE, lambda: _ask(ref), ref)
    except NetworkError as error:
        if facts := cache.kept(ref, tr("the Hub does not respond")):
            return facts
        raise error
    cache.keep(ref, facts)
    return facts


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
        licence=licence_of(info),
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
