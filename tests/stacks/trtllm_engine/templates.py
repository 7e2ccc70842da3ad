"""What the templates of TensorRT-LLM's backend declare and what its Python models ask for, release by release.

``tests/cases/trtllm-templates.json`` was made from ``all_models/inflight_batcher_llm`` of triton-inference-server/
tensorrtllm_backend at the tags v0.7.0 to v0.19.0: release → model → ``input`` and ``output`` (name → type and
dimensions), ``asked`` (outputs whose type the Python model reads when it starts, or that BLS requests of it) and
``parameters`` (name → variable of the template).
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from string import Template
from typing import Any

from tests.repository import standins
from tests.server_environment import write
from wizard.stacks.trtllm_engine.repository import repository

TEMPLATES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent.parent / "cases" / "trtllm-templates.json").read_text(encoding="utf-8")
)
KNOWN = {"max_queue_size": "0"}
"""What ``tools/fill_template.py`` fills unasked; 0.15 empties ``participant_ids`` too."""
TOKENIZER, ENGINE = "/data/Meta-Llama-3-8B-Instruct", "/data/repo/llama3/tensorrt_llm/1"
TUTORIAL = {
    "preprocessing": f"tokenizer_dir:{TOKENIZER},tokenizer_type:auto,triton_max_batch_size:1,"
    "preprocessing_instance_count:1",
    "postprocessing": f"tokenizer_dir:{TOKENIZER},tokenizer_type:auto,triton_max_batch_size:1,"
    "postprocessing_instance_count:1",
    "ensemble": "triton_max_batch_size:1",
    "tensorrt_llm": "triton_backend:tensorrtllm,triton_max_batch_size:1,decoupled_mode:False,max_beam_width:1,"
    f"engine_dir:{ENGINE},max_tokens_in_paged_kv_cache:2560,max_attention_window_size:2560,"
    "kv_cache_free_gpu_mem_fraction:0.5,exclude_input_in_output:True,enable_kv_cache_reuse:False,"
    "batching_strategy:inflight_fused_batching,max_queue_delay_microseconds:0",
}
"""Model → what tutorial 000 gives ``tools/fill_template.py`` for it."""


def template(release: str, model: str, ours: str) -> str:
    """The wizard's own config.pbtxt with the template's variables and parameters in it.

    Its tensors are the template's, as far as it has them (`test_templates`); inputs whose type
    is a variable are added.
    """
    row = TEMPLATES[release][model]
    text = re.sub(r"^parameters \{\n.*?^\}\n", "", ours, flags=re.MULTILINE | re.DOTALL)
    text = text.replace("max_batch_size: 1\n", "max_batch_size: ${triton_max_batch_size}\n")
    text = text.replace(
        "count: 1\n", f"count: ${{{model}_instance_count}}\n" if model != "tensorrt_llm" else "count: 1\n"
    )
    text = text.replace('"tensorrtllm"', '"${triton_backend}"').replace(
        "decoupled: true", "decoupled: ${decoupled_mode}"
    )
    added = []
    for name, (kind, *dims) in {name: declared.split() for name, declared in row["input"].items()}.items():
        if kind.startswith("$"):
            size = ", ".join(dims)
            added.append(f'input {{ name: "{name}" data_type: {kind} dims: [ {size} ] optional: true }}')
    added += [
        f'parameters {{ key: "{name}" value {{ string_value: "${{{variable}}}" }} }}'
        for name, variable in row["parameters"].items()
    ]
    return "\n".join([text, *added]) + "\n"


def filled_as_tutorial_000(root: Path, release: str, **more: str) -> Path:
    """The repository that the tutorial's commands leave below ``root``, which the server sees as ``/data``.

    ``more`` are variables that the tutorial does not fill.
    """
    plan = repository(release, engine_dir="/e", tokenizer_dir="/t", max_batch_size=1, bls=False)
    place = write(plan, root / "repo" / "llama3")
    standins.put(place, plan.copied)
    known = KNOWN | ({"participant_ids": ""} if release == "0.15.0" else {})
    for model, assigned in TUTORIAL.items():
        path = place / model / "config.pbtxt"
        values = dict(word.split(":") for word in assigned.split(","))
        path.write_text(Template(template(release, model, path.read_text())).safe_substitute(known | values | more))
    built = {"pretrained_config": {"mapping": {"tp_size": 1, "pp_size": 1}}, "build_config": {"max_batch_size": 1}}
    (place / "tensorrt_llm/1/config.json").write_text(json.dumps(built))
    (place / "tensorrt_llm/1/rank0.engine").touch()
    (root / Path(TOKENIZER).name).mkdir()
    return place
