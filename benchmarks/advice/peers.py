"""What AIConfigurator says of every row of the silicon sample, written to a JSON file (run once; takes minutes).

Run with a Python that has ``aiconfigurator-core``: ``python benchmarks/advice/peers.py PEERS.json``. For each row it
is asked three times: with its own default for the KV cache's dtype, with fp8 and with 16 bits. A row
that it cannot answer says why.
"""

from __future__ import annotations

import csv
import json
import shutil
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import aiconfigurator_core

PACKAGE = Path(aiconfigurator_core.__file__).parent
NAMES = {
    "meta-llama/Llama-3.1-8B-Instruct": "meta-llama--Meta-Llama-3.1-8B",
    "nvidia/Llama-3.1-8B-Instruct-FP8": "meta-llama--Meta-Llama-3.1-8B",
    "meta-llama/Llama-3.1-70B": "meta-llama--Meta-Llama-3.1-70B",
    "nvidia/Qwen3-32B-NVFP4": "Qwen--Qwen3-32B",
    "nvidia/DeepSeek-R1-NVFP4": "deepseek-ai--DeepSeek-R1",
    "zhipuai/GLM-5": "nvidia--GLM-5-NVFP4",
}
"""Model of the sample → its config among those that the wheel brings, where the name differs."""

MXFP8 = "w4a8_mxfp4_mxfp8"
SIZES = ("tp_size", "pp_size", "attention_dp_size", "moe_tp_size", "moe_ep_size")


def model_folder(model: str, into: Path) -> Path:
    """A folder with ``config.json`` of ``model``; the format comes from the row."""
    folder = into / model.replace("/", "--")
    if not folder.exists():
        folder.mkdir()
        name = NAMES.get(model, model.replace("/", "--"))
        shutil.copy(PACKAGE / "model_configs" / f"{name}_config.json", folder / "config.json")
    return folder


def ask(row: dict[str, str], kv: str | None, folder: Path) -> dict[str, Any]:
    """TPOT and TTFT in milliseconds for one row.

    gpt-oss is asked for in its native format: with 8-bit activations on Blackwell, as its servers ran, else with 16.
    """
    from aiconfigurator_core.sdk import perf_database
    from aiconfigurator_core.sdk.backends.factory import get_backend
    from aiconfigurator_core.sdk.config import RuntimeConfig
    from aiconfigurator_core.sdk.config_builders import build_model_config
    from aiconfigurator_core.sdk.models import get_model

    system, backend = row["system"], row["backend"]
    native = "gpt-oss" in row["model_path"]
    sizes = {name: int(float(row[name] or 1)) for name in SIZES}  # what a dense model's row leaves empty is 1
    config = build_model_config(
        **sizes,
        gemm_quant_mode=None if native else row["gemm_quant_mode"] or None,
        moe_quant_mode=(MXFP8 if "b200" in system else None) if native else row["moe_quant_mode"] or None,
        kvcache_quant_mode=kv,
        fmha_quant_mode="bfloat16" if kv == "bfloat16" else None,
    )
    newest = perf_database.get_latest_database_version(system, backend)
    database = perf_database.get_database(system, backend, newest)
    load = RuntimeConfig(isl=int(row["isl"]), osl=int(row["osl"]), batch_size=int(float(row["batch_size"])))
    summary = get_backend(backend).run_agg(get_model(str(folder), config, backend), database, load, ctx_tokens=load.isl)
    result = summary.get_result_dict()
    return {"tpot": float(result["tpot"]), "ttft": float(result["ttft"])}


def main(out: Path) -> None:
    rows = list(csv.DictReader((PACKAGE / "systems" / "silicon_sample.csv").open()))
    rows = [row for row in rows if row["mode"] == "agg" and row["backend"] in ("vllm", "trtllm")]
    answers_by_row: dict[str, Any] = (
        json.loads(out.read_text()) if out.exists() else {"version": version("aiconfigurator-core")}
    )
    with tempfile.TemporaryDirectory() as scratch:
        for number, row in enumerate(rows):
            if row["id"] in answers_by_row and any("tpot" in answer for answer in answers_by_row[row["id"]].values()):
                continue
            answers = {}
            for name, kv in (("auto", None), ("fp8", "fp8"), ("16", "bfloat16")):
                try:
                    answers[name] = ask(row, kv, model_folder(row["model_path"], Path(scratch)))
                except Exception as error:  # whatever it raises is its answer for this row
                    answers[name] = {"error": f"{type(error).__name__}: {error}"[:200]}
            answers_by_row[row["id"]] = answers
            if number % 50 == 0:
                out.write_text(json.dumps(answers_by_row))
                print(number, row["id"], answers, file=sys.stderr)
    out.write_text(json.dumps(answers_by_row, indent=0))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
