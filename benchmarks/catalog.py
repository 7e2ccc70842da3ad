"""Compare the catalog (``profiles/models``) with the Hub: repositories, files, sizes, parameters, licenses, gates.

    python benchmarks/catalog.py [NAME …]

Exit status: 0 if everything agrees, 1 if something differs, 2 if no hub answers, so that nothing was checked.
``HF_ENDPOINT`` selects the hub. A count may differ by 3%, because sources round and the catalog does not count a vision
tower; the size of a GGUF file by 15% from the one that ``profiles/gguf.toml`` gives. Larger differences are reported.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from wizard.catalog import gguf_types
from wizard.catalog.models import CuratedModel, curated
from wizard.model import hub
from wizard.model.cache import endpoint
from wizard.model.gguf_files import type_of

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.hf_api import ModelInfo

TOLERANCE, SIZE_TOLERANCE = 0.03, 0.15
PARALLEL = 8


def differences(api: HfApi, model: CuratedModel) -> list[str]:
    """What the Hub states differently about ``model``, or lacks."""
    from huggingface_hub.errors import HfHubHTTPError

    lines: list[str] = []
    for repo, compare in ((model.repo, weights), (model.gguf, files)):
        if repo is None:
            continue
        try:
            lines += compare(model, api.model_info(repo, files_metadata=True))
        except HfHubHTTPError as error:
            lines.append(f"{repo}: {str(error).splitlines()[0]}")
    return lines


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
    models = [known[name] for name in names or known]
    if not hub.reachable():
        print(f"no hub answers at {endpoint()}: none of {len(models)} models was checked", file=sys.stderr)
        return 2
    api = HfApi(endpoint=endpoint())
    with ThreadPoolExecutor(PARALLEL) as pool:
        lines = [line for each in pool.map(partial(differences, api), models) for line in each]
    print("\n".join([*lines, f"{len(models)} models checked, {len(lines)} differences"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
