"""Compare the catalog (``profiles/models``) with the Hub: repositories, files, sizes, parameters, licenses, gates.

    python benchmarks/catalog.py [NAME …]

Exit status: 0 if everything agrees, 1 if something differs, 2 if something could not be checked: no hub answers, access
is denied, or too many requests were sent even after waiting as long as the Hub asks for.
``HF_ENDPOINT`` selects the hub. A count may differ by 3%, because sources round and the catalog does not count a vision
tower; the size of a GGUF file by 15% from the one that ``profiles/gguf.toml`` gives. Larger differences are reported.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from wizard.catalog import gguf_types
from wizard.catalog.models import CuratedModel, curated
from wizard.model.cache import endpoint
from wizard.model.gguf_files import type_of
from wizard.model.hub import access

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import ModelInfo

TOLERANCE, SIZE_TOLERANCE = 0.03, 0.15
PARALLEL = 8
SECONDS = 10.0
TRIES = 3
LIMITED = 429
MISSING = (401, 404)
"""The Hub answers a request without a token for a repository that does not exist with 401."""


def differences(api: HfApi, model: CuratedModel) -> tuple[list[str], list[str]]:
    """What the Hub states differently about ``model``, or lacks; and what could not be checked."""
    lines: list[str] = []
    unchecked: list[str] = []
    for repo, compare in ((model.repo, weights), (model.gguf, files)):
        if repo is None:
            continue
        try:
            info = described(api, repo)
        except Exception as error:  # of the client, or of the connection
            status = getattr(getattr(error, "response", None), "status_code", None)
            first = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
            (lines if status in MISSING else unchecked).append(f"{repo}: {first}")
            continue
        if info.id != repo:
            lines.append(f"{repo}: renamed to {info.id}")
        lines += compare(model, info)
    return lines, unchecked


def described(api: HfApi, repo: str) -> ModelInfo:
    """The Hub's description of ``repo``; after too many requests the Hub says when to send the next one."""
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils import parse_ratelimit_headers

    for _ in range(TRIES - 1):
        try:
            return api.model_info(repo, files_metadata=True, timeout=SECONDS)
        except HfHubHTTPError as error:
            limit = parse_ratelimit_headers(error.response.headers) if error.response.status_code == LIMITED else None
            if limit is None:
                raise
            time.sleep(limit.reset_in_seconds)
    return api.model_info(repo, files_metadata=True, timeout=SECONDS)


def weights(model: CuratedModel, info: ModelInfo) -> Iterator[str]:
    """What differs in the repository of the weights."""
    if bool(info.gated) != bool(model.gated):
        yield f"{model.repo}: gated is {info.gated}, the catalog has {model.gated}"
    licences = [tag.removeprefix("license:") for tag in info.tags or () if tag.startswith("license:")]
    if model.licence and licences and model.licence.lower() not in licences:
        yield f"{model.repo}: license {licences[0]}, the catalog has {model.licence}"
    counted = info.safetensors.total if info.safetensors and model.bits == 16 else None
    if counted and abs(counted - model.parameters) > TOLERANCE * model.parameters:
        yield f"{model.repo}: {counted:,} parameters, the catalog has {model.parameters:,}"


def files(model: CuratedModel, info: ModelInfo) -> Iterator[str]:
    """What differs in the repository of the GGUF files."""
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
    for file in model.files:
        estimate = model.parameters * gguf_types.bits().get(type_of(file) or "", 0) / 8
        if file not in sizes:
            yield f"{model.gguf}: no file {file}"
        elif estimate and abs(sizes[file] - estimate) > SIZE_TOLERANCE * estimate:
            yield f"{model.gguf}: {file} has {sizes[file]:,} bytes, {estimate:,.0f} estimated"


def main(names: list[str]) -> int:
    """Check the models ``names``, or all."""
    from huggingface_hub import HfApi

    known = curated()
    if unknown := [name for name in names if name not in known]:
        print(f"not in the catalog: {', '.join(unknown)}", file=sys.stderr)
        return 2
    models = [known[name] for name in names or known]
    if not access.reachable():
        print(f"no hub answers at {endpoint()}: none of {len(models)} models was checked", file=sys.stderr)
        return 2
    api = HfApi(endpoint=endpoint())
    with ThreadPoolExecutor(PARALLEL) as pool:
        checked = list(pool.map(partial(differences, api), models))
    lines = [line for differing, _ in checked for line in differing]
    unchecked = [line for _, silent in checked for line in silent]
    print("\n".join([*lines, *(f"not checked: {line}" for line in unchecked)]))
    print(f"{len(models)} models, {len(lines)} differences, {len(unchecked)} repositories not checked")
    return 1 if lines else 2 if unchecked else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
