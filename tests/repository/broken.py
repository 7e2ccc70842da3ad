"""Small model repositories, each good or broken in one way; a real server and the linter judge the same ones."""

# ruff: noqa: E501 - one mistake, one line

from __future__ import annotations

from pathlib import Path
from random import Random

MODEL = """\
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        tensor = pb_utils.get_input_tensor_by_name
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", tensor(one, "IN").as_numpy())]) for one in requests]
"""

CONFIG = """\
name: "NAME"
backend: "python"
max_batch_size: 4
input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }
input { name: "MAYBE" data_type: TYPE_FP32 dims: [ 1 ] optional: true }
output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }
instance_group { kind: KIND_CPU count: 1 }
"""

ENSEMBLE = """\
name: "NAME"
platform: "ensemble"
max_batch_size: 4
input { name: "A" data_type: TYPE_INT32 dims: [ -1 ] }
output { name: "C" data_type: TYPE_INT32 dims: [ -1 ] }
ensemble_scheduling {
  step {
    model_name: "good"
    model_version: -1
    input_map { key: "IN" value: "A" }
    output_map { key: "OUT" value: "B" }
  }
  step {
    model_name: "good"
    model_version: -1
    input_map { key: "IN" value: "B" }
    output_map { key: "OUT" value: "C" }
  }
}
"""

Files = dict[str, str]
"""Path in the model's folder → text; a path that ends with ``/`` is an empty folder."""


def python(config: str = CONFIG, model: str | None = MODEL) -> Files:
    """A model of the Python backend."""
    return {"config.pbtxt": config, **({"1/model.py": model} if model is not None else {"1/": ""})}


def ensemble(config: str = ENSEMBLE) -> Files:
    """An ensemble of two steps."""
    return {"config.pbtxt": config, "1/": ""}


def changed(text: str, old: str, new: str) -> str:
    """``text`` with ``new`` for the first ``old``, which must be there."""
    assert old in text, old
    return text.replace(old, new, 1)


def in_config(old: str, new: str) -> Files:
    """The Python model with a change in its configuration."""
    return python(changed(CONFIG, old, new))


def in_ensemble(old: str, new: str) -> Files:
    """The ensemble with a change in its configuration."""
    return ensemble(changed(ENSEMBLE, old, new))


def without(files: Files, *paths: str) -> Files:
    """``files`` less some."""
    return {path: text for path, text in files.items() if path not in paths}


INPUT = 'input { name: "A" data_type: TYPE_INT32 dims: [ -1 ] }'
GROUP = "instance_group { kind: KIND_CPU count: 1 }"
STEPS = ENSEMBLE[ENSEMBLE.index("  step {") : ENSEMBLE.rindex("}\n")]

MODELS: dict[str, Files] = {
    "good": python(),
    "good_ensemble": ensemble(),
    # good, though it may look odd
    "no_name": in_config('name: "NAME"\n', ""),
    "comments": in_config("max_batch_size", "# ${in_a_comment}\nmax_batch_size"),
    "unfilled_in_string": python(CONFIG + 'parameters { key: "x" value { string_value: "${y}" } }\n'),
    "commas": in_config("TYPE_INT32 dims: [ -1 ] }", "TYPE_INT32, dims: [ -1 ], }"),
    "two_versions": {**python(), "2/model.py": MODEL},
    "odd_folder": {**python(), "notes/": ""},
    "no_batch": in_config("max_batch_size: 4\n", ""),
    "no_instance_group": in_config(GROUP, ""),
    "kind_auto": in_config("KIND_CPU", "KIND_AUTO"),
    "kind_model": in_config("KIND_CPU", "KIND_MODEL"),
    "decoupled": python(CONFIG + "model_transaction_policy { decoupled: true }\n"),
    "batching": python(CONFIG + "dynamic_batching { preferred_batch_size: [ 4 ] }\n"),
    "platform_only": in_config('backend: "python"', 'platform: "python"'),
    "specific_version": python(CONFIG + "version_policy { specific { versions: [ 1 ] } }\n"),
    "renamed_file": {"config.pbtxt": CONFIG + 'default_model_filename: "other.py"\n', "1/other.py": MODEL},
    "name.with.dots": python(),
    "scalar": in_config('"IN" data_type: TYPE_INT32 dims: [ -1 ]', '"IN" data_type: TYPE_INT32 dims: [ 1 ] reshape { shape: [ ] }'),
    "two_outputs": in_config("instance_group", 'output { name: "MORE" data_type: TYPE_FP32 dims: [ 1 ] }\ninstance_group'),
    "all_versions": {**python(CONFIG + "version_policy { all { } }\n"), "3/model.py": MODEL},
    "old_syntax_error": {"config.pbtxt": CONFIG, "1/model.py": "def", "2/model.py": MODEL},
    # broken
    ".hidden": {"HEAD": "x"},
    "new_syntax_error": {"config.pbtxt": CONFIG, "2/model.py": "def", "1/model.py": MODEL},
    "some_version_broken": {"config.pbtxt": CONFIG + "version_policy { all { } }\n", "2/model.py": MODEL, "1/model.py": "def"},
    "reshape_of_any": in_config('"IN" data_type: TYPE_INT32 dims: [ -1 ]', '"IN" data_type: TYPE_INT32 dims: [ -1 ] reshape { shape: [ 1 ] }'),
    "reshape_zero": in_config('"MAYBE" data_type: TYPE_FP32 dims: [ 1 ]', '"MAYBE" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ 0 ] }'),
    "specific_of_none": python(CONFIG + "version_policy { specific { } }\n"),
    "preferred_zero": python(CONFIG + "dynamic_batching { preferred_batch_size: [ 0 ] }\n"),
    "batching_unbatched": in_config("max_batch_size: 4", "dynamic_batching { }"),
    "both_backend_and_platform": in_config('backend: "python"', 'backend: "python" platform: "onnxruntime_onnx"'),
    "unfilled_number": in_config("max_batch_size: 4", "max_batch_size: ${triton_max_batch_size}"),
    "unfilled_count": in_config("count: 1", "count: ${instance_count}"),
    "unfilled_bool": python(CONFIG + "model_transaction_policy { decoupled: ${decoupled_mode} }\n"),
    "unfilled_type": in_config("TYPE_INT32", "${logits_datatype}"),
    "unfilled_backend": in_config('"python"', '"${triton_backend}"'),
    "unknown_field": in_config("max_batch_size: 4", "foo: 4"),
    "unknown_enum": in_config("TYPE_FP32", "TYPE_FLOAT"),
    "not_closed": in_config(GROUP, "instance_group { kind: KIND_CPU"),
    "twice": in_config("max_batch_size: 4", "max_batch_size: 4 max_batch_size: 4"),
    "json_config": python('{ "name": "json_config" }'),
    "no_version": without(python(), "1/model.py"),
    "no_numeric_version": {"config.pbtxt": CONFIG, "one/model.py": MODEL},
    "version_zero": {"config.pbtxt": CONFIG, "0/model.py": MODEL},
    "version_01": {"config.pbtxt": CONFIG, "01/model.py": MODEL},
    "missing_version": python(CONFIG + "version_policy { specific { versions: [ 7 ] } }\n"),
    "other_name": in_config("NAME", "someone_else"),
    "kind_gpu": in_config("KIND_CPU", "KIND_GPU"),
    "gpus_of_cpu": in_config("count: 1", "count: 1 gpus: [ 0 ]"),
    "count_negative": in_config("count: 1", "count: -1"),
    "count_zero": in_config("count: 1", "count: 0"),
    "batch_negative": in_config("max_batch_size: 4", "max_batch_size: -4"),
    "unknown_backend": in_config('"python"', '"tensorrtllm"'),
    "no_backend": in_config('backend: "python"\n', ""),
    "vllm": in_config('"python"', '"vllm"'),
    "no_type": in_config("data_type: TYPE_INT32 ", ""),
    "no_dims": in_config("dims: [ -1 ]", ""),
    "dims_zero": in_config("dims: [ -1 ]", "dims: [ 0 ]"),
    "dims_minus_two": in_config("dims: [ -1 ]", "dims: [ -2 ]"),
    "no_tensor_name": in_config('name: "IN"', ""),
    "input_twice": in_config('"MAYBE"', '"IN"'),
    "bad_reshape": in_config('"MAYBE" data_type: TYPE_FP32 dims: [ 1 ]', '"MAYBE" data_type: TYPE_FP32 dims: [ 1 ] reshape { shape: [ 2 ] }'),
    "no_inputs": in_config('input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] }', ""),
    "preferred_too_large": python(CONFIG + "dynamic_batching { preferred_batch_size: [ 8 ] }\n"),
    "syntax_error": python(model=MODEL.replace("def execute(self, requests):", "def execute(self, requests)")),
    "no_class": python(model="x = 1\n"),
    "null_bytes": python(model="x = 1\0\n"),
    "no_config": without(python(), "config.pbtxt"),
    "empty_config": python(""),
    "decoupled_batching": python(CONFIG + "model_transaction_policy { decoupled: true }\nsequence_batching { }\ndynamic_batching { }\n"),
    "cached_decoupled": python(CONFIG + "response_cache { enable: true }\nmodel_transaction_policy { decoupled: true }\n"),
    # ensembles
    "e_no_version": without(ensemble(), "1/"),
    "e_unknown_model": in_ensemble('"good"', '"nobody"'),
    "e_needs_broken": in_ensemble('"good"', '"syntax_error"'),
    "e_needs_missing_version": in_ensemble("model_version: -1", "model_version: 5"),
    "e_itself": in_ensemble('"good"', '"e_itself"'),
    "e_writes_input": ensemble(ENSEMBLE.replace('key: "OUT" value: "B"', 'key: "OUT" value: "A"').replace('"B"', '"A"')),
    "e_unknown_input": in_ensemble('key: "IN"', 'key: "INN"'),
    "e_unknown_output": in_ensemble('key: "OUT"', 'key: "OUTT"'),
    "e_input_missing": in_ensemble('    input_map { key: "IN" value: "A" }\n', ""),
    "e_input_unfed": in_ensemble('key: "IN" value: "B"', 'key: "IN" value: "X"'),
    "e_output_unmade": in_ensemble('key: "OUT" value: "C"', 'key: "OUT" value: "D"'),
    "e_type": in_ensemble('"A" data_type: TYPE_INT32', '"A" data_type: TYPE_INT64'),
    "e_out_type": in_ensemble('"C" data_type: TYPE_INT32', '"C" data_type: TYPE_FP32'),
    "e_dims": in_ensemble('"A" data_type: TYPE_INT32 dims: [ -1 ]', '"A" data_type: TYPE_INT32 dims: [ -1, 2 ]'),
    "e_dims_fixed": in_ensemble('"A" data_type: TYPE_INT32 dims: [ -1 ]', '"A" data_type: TYPE_INT32 dims: [ 5 ]'),
    "e_maybe_dims": in_ensemble('input_map { key: "IN" value: "A" }', 'input_map { key: "IN" value: "A" } input_map { key: "MAYBE" value: "A" }'),
    "e_unused_input": in_ensemble(INPUT, INPUT + '\ninput { name: "Z" data_type: TYPE_INT32 dims: [ 1 ] }'),
    "e_unused_optional_input": in_ensemble(INPUT, INPUT + '\ninput { name: "Z" data_type: TYPE_INT32 dims: [ 1 ] optional: true }'),
    "e_optional_fed": in_ensemble(INPUT, INPUT[:-1] + " optional: true }"),
    "e_batch": in_ensemble("max_batch_size: 4", "max_batch_size: 8"),
    "e_smaller_batch": in_ensemble("max_batch_size: 4", "max_batch_size: 2"),
    "e_no_batch": in_ensemble("max_batch_size: 4\n", ""),
    "e_no_steps": in_ensemble(STEPS, ""),
    "e_no_scheduling": ensemble(ENSEMBLE[: ENSEMBLE.index("ensemble_scheduling")]),
    "e_instances": ensemble(ENSEMBLE + GROUP),
    "e_batching": ensemble(ENSEMBLE + "dynamic_batching { }"),
    "e_backend": in_ensemble('platform: "ensemble"', 'backend: "ensemble"'),
    "e_no_platform": in_ensemble('platform: "ensemble"\n', ""),
    "e_no_output_map": in_ensemble('output_map { key: "OUT" value: "B" }', ""),
    "e_no_model_name": in_ensemble('model_name: "good"', ""),
    "e_output_twice": in_ensemble('key: "OUT" value: "C"', 'key: "OUT" value: "B"'),
    "e_of_decoupled": in_ensemble('"good"', '"decoupled"'),
    "e_no_reuse": in_ensemble('key: "OUT" value: "B"', 'key: "OUT" value: "A"'),
    "e_dangling_output": in_ensemble("  step {\n", '  step { model_name: "good" model_version: -1 input_map { key: "IN" value: "A" } output_map { key: "OUT" value: "Q" } }\n  step {\n'),
    "e_of_unbatched": in_ensemble("good", "no_batch"),
    "e_of_unbatched_twice": ensemble(ENSEMBLE.replace('"good"', '"no_batch"')),
    "e_unbatched_expanded": ensemble(ENSEMBLE.replace("max_batch_size: 4", "").replace("dims: [ -1 ]", "dims: [ -1, -1 ]")),
    "e_three_dims": ensemble(ENSEMBLE.replace("dims: [ -1 ]", "dims: [ -1, -1, 3 ]")),
    "e_scalar": in_ensemble('"good"', '"scalar"'),
    "e_of_ensemble": ensemble(ENSEMBLE.replace('"good"', '"good_ensemble"').replace('"IN"', '"A"').replace('"OUT"', '"C"')),
    "e_of_broken_ensemble": ensemble(ENSEMBLE.replace('"good"', '"e_type"').replace('"IN"', '"A"').replace('"OUT"', '"C"')),
    "e_circle_one": ensemble(ENSEMBLE.replace('"good"', '"e_circle_two"').replace('"IN"', '"A"').replace('"OUT"', '"C"')),
    "e_circle_two": ensemble(ENSEMBLE.replace('"good"', '"e_circle_one"').replace('"IN"', '"A"').replace('"OUT"', '"C"')),
    "e_output_used_too": in_ensemble("output {", 'output { name: "B" data_type: TYPE_INT32 dims: [ -1 ] }\noutput {'),
    "e_input_is_output": in_ensemble("output {", 'output { name: "A" data_type: TYPE_INT32 dims: [ -1 ] }\noutput {'),
    "e_unused_member_output": in_ensemble('"good"', '"two_outputs"'),
    "e_wrong_platform": in_config('backend: "python"', 'backend: "python" platform: "ensemble"'),
}  # fmt: skip


def write(root: Path, models: dict[str, Files] = MODELS) -> Path:
    """Write models into the folder ``root``; ``NAME`` in a configuration becomes the folder's name."""
    for name, files in models.items():
        for path, text in files.items():
            target = root / name / path
            if path.endswith("/"):
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text.replace('"NAME"', f'"{name}"'), encoding="utf-8")
    return root


OTHERS = {
    '"good"': ('"no_batch"', '"two_outputs"', '"good_ensemble"', '"decoupled"', '"nobody"'),
    '"A"': ('"B"', '"C"', '"Z"'),
    '"B"': ('"A"', '"C"', '"Z"'),
    '"C"': ('"A"', '"B"'),
    '"IN"': ('"MAYBE"', '"A"', '"OUT"'),
    '"OUT"': ('"MORE"', '"C"', '"IN"'),
    "dims: [ -1 ]": ("dims: [ 1 ]", "dims: [ 2, -1 ]", "dims: [ -1, -1 ]", "dims: [ 7 ]"),
    "dims: [ -1 ] }": ("dims: [ -1 ] optional: true }",),
    "TYPE_INT32": ("TYPE_FP32",),
    "max_batch_size: 4": ("max_batch_size: 1", "", "max_batch_size: 5"),
    "model_version: -1": ("model_version: 1", "model_version: 2"),
}
"""Words of the ensemble's configuration → what may stand there by mistake."""


def mistaken(random: Random) -> Files:
    """The ensemble with one to three words mistaken."""
    text = ENSEMBLE
    for _ in range(random.randint(1, 3)):
        word = random.choice([word for word in OTHERS if word in text])
        parts = text.split(word)
        at = random.randrange(1, len(parts))
        text = word.join(parts[:at]) + random.choice(OTHERS[word]) + word.join(parts[at:])
    return ensemble(text)
