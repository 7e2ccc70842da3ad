"""Texts of obstacles: code → message."""

from __future__ import annotations

from collections.abc import Mapping

from wizard.advise.reasons import Param
from wizard.kernel.language import mark, tr
from wizard.model.task import TITLES
from wizard.texts import units
from wizard.texts.table import Fields, Text


def _stage(params: Mapping[str, Param], fields: Fields) -> str:
    where = tr("{gpu} in one machine", gpu=params["gpu"]) if params["one_machine"] else params["gpu"]
    text = mark("{split} needs {gpus} identical GPUs; found {there} × {where}.")
    return tr(text, **{**fields, "split": units.split(params), "where": where})


def _replicas(params: Mapping[str, Param], fields: Fields) -> str:
    where = tr("{gpu} in one machine", gpu=params["gpu"]) if params["one_machine"] else params["gpu"]
    each = units.gpus(params["gpus"])
    text = mark("{asked} replicas with {each} each need {need} identical GPUs; found {there} × {where}.")
    return tr(text, **{**fields, "each": each, "where": where})


def _held(_: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    held = tr("In use by other processes: {holders}.", holders=fields["holders"]) if fields["holders"] else ""
    return tr(_GPU_MEMORY, **fields), held


def _busy(_: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    holders = f" ({fields['holders']})" if fields["holders"] else ""
    return (tr(_BUSY, **{**fields, "holders": holders}),)


def _holder(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    return _on_gpu(f"{params['name'] or tr('a process')} (pid {params['pid']})", params, fields)


def _no_room(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    if params["where"] == "gpu":
        text = mark("One layer with {users} × {tokens:,} tokens needs {need} on the GPU; {budget} is usable.")
    else:
        text = mark("The part in host memory with {users} × {tokens:,} tokens needs {need}; {budget} is usable.")
    return (tr(text, **fields),)


def _on_gpu(who: str, params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    if params["index"] is None:
        return (f"{who}: {fields['size']}",)
    return (tr("{who}: {size} on GPU {index}", who=who, **fields),)


def _no_gpu(params: Mapping[str, Param], _: Fields) -> tuple[str, ...]:
    why = f"{params['problem']} ({params['code']})" if "code" in params else tr("this machine has no NVIDIA GPU")
    return (tr(_NO_GPU, why=why),)


def _silent(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    text = tr("{engine} does not respond", **fields)
    return (f"{text} ({params['problem']})" if params["problem"] else text,)


def _no_python(params: Mapping[str, Param], fields: Fields) -> tuple[str, ...]:
    reasons = tr("Found: {reasons}.", reasons=fields["unusable"]) if params["unusable"] else ""
    return tr("Triton's Python backend needs Python {low} to {high} with its shared library.", **fields), reasons


def _with_bits(params: Mapping[str, Param], fields: Fields) -> str:
    """A quantization method, with its bits if they are known."""
    return tr("{method} with {bits:g} bits", **{**fields, **params}) if params.get("bits") else str(fields["method"])


def _version(fields: Fields) -> str:
    """The required engine."""
    return f"{fields['engine']} {fields['version']}"


def _wanted(params: Mapping[str, Param]) -> str:
    """Versions of Python that would work."""
    values = params["wanted"]
    return tr(" or ").join(map(str, values)) if isinstance(values, tuple) else str(values)


def _task(params: Mapping[str, Param]) -> str:
    """What a model that does not chat is."""
    return next(title for task, title in TITLES.items() if task == params["task"])


_BUSY = mark(
    "You requested {share:.2f} of {total}, but only {free} is free{holders}, of which the CUDA context and CUDA "
    "graphs take {context}."
)
_METHOD = mark("The wizard does not support the checkpoint's quantization method, {method}.")
_GPU_MEMORY = mark(
    "{weights} of weights, {working} of working memory and {cache} of KV cache for {users:,} × {length:,} tokens "
    "exceed the {budget} available on one {gpu}."
)
_NO_GPU = mark("An NVIDIA GPU is required, and none was detected: {why}.")
_NEEDS = mark("{what} needs compute capability {wanted}; the {gpu} has {capability}.")
_MULTIPLY = mark("Tensor cores support {format} on compute capability {wanted} or higher; the {gpu} has {capability}.")

TEXTS: dict[str, Text] = {
    # -- the checkpoint
    "no-checkpoint": mark(
        "The wizard knows of no repository with {model} in {format}, and {stack} cannot produce that format while "
        "loading."
    ),
    "sixteen-while-loading": mark(
        "This release needs all 16-bit weights on the GPU before it quantizes them to {format}: {size} per GPU, but "
        "only {free} is free."
    ),
    # -- the machine
    "processor": mark("The server environment supports {wanted}; this machine is {machine}."),
    "libc": mark("Triton's wheel needs glibc {glibc} or newer; this system has {libc}."),
    "cpu-flags": mark("The engine needs a processor with {flags}, which this one lacks."),
    "other-python": lambda params, fields: (
        tr("{engine} supports only Python {wanted}; found {have}.", **{**fields, "wanted": _wanted(params)}),
    ),
    "no-python": _no_python,
    "python-why-not": lambda _, fields: (f"{fields['path']} ({fields['version']}): {fields['why']}",),
    "gpu-unknown": mark("NVML does not report the memory or the compute capability of the {gpu}."),
    "no-gpu": _no_gpu,
    "unknown-free-memory": mark("The amount of free memory is unknown: {why}."),
    "silent-system": mark("the system does not report it"),
    "old-driver": mark("{what} needs NVIDIA driver {branch} or newer; found {driver}."),
    "engine": lambda _, fields: (str(fields["engine"]),),
    "this-release": lambda params, fields: (
        tr("Release {release}", **fields) if params["release"] else tr("Every suitable release"),
    ),
    # -- container engines and runtimes
    "runtime-asked": lambda *_: (tr("you requested {runtime}", runtime="--runtime native"),),
    "engine-not-installed": mark("{engine} is not installed"),
    "no-container-engine": mark("neither docker nor podman is installed"),
    "engine-silent": _silent,
    "engine-problem": lambda _, fields: (f"{fields['engine']}: {fields['problem']}",),
    "no-nvidia-runtime": mark("{engine} has no NVIDIA runtime"),
    "no-runtime": mark("{runtime} cannot be used: {why}."),
    "no-native": mark("{stack} runs only in NVIDIA's images, but {why}."),
    "no-stack-image": mark("NVIDIA has no Triton image with {stack}"),
    "is-image": mark("Release {release} is a container image, but {why}."),
    "and": mark("{problem} Also, {why}."),
    "cpu-runtime": mark("{stack} runs only natively; --runtime {runtime} is not supported."),
    "cpu-release": mark("{stack} runs only natively; --release {release} names an image."),
    # -- releases
    "no-image-will-do": lambda _, fields: (
        tr("no image is compatible. {problem}", problem=str(fields["problem"]).rstrip(".")),
    ),
    "older-vllm": mark("release {release} has an older version of vLLM"),
    "unknown-release": mark("No Triton image with {engine} is known for {release}."),
    "no-llm-api": mark("Release {release} (TensorRT-LLM {engine}) has no Triton model for the LLM API."),
    "no-image": lambda _, fields: (
        tr("No Triton image with {stack} supports compute capability {capability} and {format}.", **fields),
        f"({fields['source']})",
    ),
    "release-capability": mark("Release {release} needs compute capability {wanted}; the {gpu} has {capability}."),
    "release-cuda": mark("Compute capability {capability} ({gpu}) needs CUDA {cuda}; release {release} has {has}."),
    "engine-capability": lambda _, fields: (
        tr("{what} needs compute capability {wanted}; this GPU has {capability}.", what=fields["engine"], **fields),
    ),
    "no-engines": mark(
        "Release {release} (TensorRT-LLM {engine}) does not support engines; TensorRT-LLM {last} was the last "
        "version that did."
    ),
    "builds-no-engine": mark(
        "The image of release {release} can serve engines but not build them: it lacks TensorRT-LLM's Python package "
        "and build tools."
    ),
    "pytorch-backend": mark("{engine}'s PyTorch backend"),
    "needs-name": lambda _, fields: (str(fields["name"]),),
    "needs-method": mark("A checkpoint with the quantization method {name}"),
    "no-method": mark("{engine} does not load checkpoints with the quantization method {method}."),
    "needs-rope": mark("{model} with {kind} rotary embeddings"),
    "needs-capability": mark("Compute capability {capability}"),
    "needs-format": lambda _, fields: (str(fields["format"]),),
    "needs-unpacked": mark("{format} on compute capability {capability}"),
    "needs-conversion": mark("Converting {model}"),
    "not-listed": mark("{engine} does not list {model} as a supported model."),
    "gguf-architecture": mark("{engine} {has} does not support GGUF files with the architecture {name}."),
    "no-image-for": mark("NVIDIA has no Triton image with {stack} for the {gpu}."),
    "no-conversion": mark("The wizard cannot convert {model} into an engine."),
    "release-too-old": lambda _, fields: (
        tr(
            "{what} needs {wanted}; release {release} has {has}.",
            wanted=_version(fields),
            **fields,
        ),
    ),
    "too-old": lambda _, fields: (tr("{what} needs {wanted}; found {has}.", wanted=_version(fields), **fields),),
    "release-too-new": lambda _, fields: (
        tr(
            "{what} needs {wanted} or older; release {release} has {has}.",
            wanted=_version(fields),
            **fields,
        ),
    ),
    "too-new": lambda _, fields: (
        tr("{what} needs {wanted} or older; found {has}.", wanted=_version(fields), **fields),
    ),
    # -- a Python of the user's
    "own-missing": mark("{package} is not installed in {path}."),
    "own-old": mark("{path} has {package} {has}; the wizard needs {oldest} or newer."),
    "own-without-cuda": mark("{torch} in {path} was built without CUDA."),
    "own-cuda": mark("{torch} in {path} was built for CUDA {cuda}, which driver {driver} does not support."),
    "own-gpu-cuda": mark("Compute capability {capability} ({gpu}) needs CUDA {cuda}; PyTorch in {path} has {has}."),
    "own-gpu-capability": mark(
        "PyTorch in {path} (CUDA {has}) needs compute capability {wanted}; the {gpu} has {capability}."
    ),
    "own-and-runtime": mark("--engine-python requires the native runtime; {runtime} uses the image's engine."),
    "own-and-release": mark("--engine-python requires the native runtime; --release {release} selects an image."),
    "own-stack": mark("{stack} does not support --engine-python."),
    "own-unknown": mark("The machine description does not include the engine in {path}."),
    # -- the model
    "no-setup": mark("No supported configuration can serve this model on this machine as requested."),
    "gguf": mark("llama.cpp serves GGUF files; the other stacks load safetensors repositories."),
    "no-gguf": mark("{model} is not a GGUF file, which {stack} requires."),
    "unknown-method": lambda params, fields: (tr(_METHOD, method=_with_bits(params, fields)),),
    "unknown-memory": lambda _, fields: (
        tr("The memory needed for {model} is unknown: {why}.", why=fields["whys"], **fields),
    ),
    "silent-header": mark("its header does not specify the model's dimensions"),
    "silent-config": mark("its config does not specify the model's dimensions"),
    "trained-context": mark("The model was trained for {most:,} tokens of context; you requested {asked:,}."),
    "not-chat": lambda params, fields: (tr("{model} is {task}.", **{**fields, "task": tr(_task(params))}),),
    # -- formats
    "stack-capability": lambda _, fields: (tr(_NEEDS, what=fields["stack"], **fields),),
    "no-bfloat16": lambda _, fields: (tr(_NEEDS, what="bfloat16", **fields),),
    "only-unpacked": lambda _, fields: (tr(_MULTIPLY, **fields), tr("vLLM would only unpack the weights to 16 bits.")),
    "not-multiplied": _MULTIPLY,
    "sixteen-only": mark("The transformers baseline runs 16-bit weights, not {format}."),
    "no-kernels": mark("vLLM has no kernels for {format}."),
    "vllm-format": mark("vLLM supports {format} on compute capability {wanted} or higher; the {gpu} has {capability}."),
    "checkpoint-format": mark(
        "vLLM loads {format} made with {method} only on compute capability {wanted} or higher. The {gpu} has "
        "{capability}."
    ),
    "unlisted-format": mark("{stack} does not list {format} as supported on compute capability {capability} ({gpu})."),
    "unloaded-checkpoint": mark("{stack} does not load {ref}, the known repository in {format}, on this GPU."),
    "unloaded-method": mark("{stack} does not load checkpoints quantized with {method}."),
    "mixtral-format": mark("TensorRT-LLM's support table does not list {format} for Mixtral."),
    "phi-format": mark("TensorRT-LLM's support table lists Phi in 16 bits only, not {format}."),
    "sixteen-bit-cache": mark("The transformers baseline keeps its KV cache in 16 bits."),
    "uncalibrated-cache": mark("{stack} cannot calibrate an FP8 KV cache for a checkpoint that is quantized already."),
    "fp8-cache": mark(
        "An FP8 KV cache in {stack} needs compute capability {wanted} or higher; the {gpu} has {capability}."
    ),
    "float16-overflow": mark(
        "{model} overflows in float16, and bfloat16 needs compute capability {wanted} or higher; the {gpu} has "
        "{capability}. {stack} is not known to support float32 on that GPU."
    ),
    "float32-format": mark(
        "{model} overflows in float16, and bfloat16 needs compute capability {wanted} or higher; the {gpu} has "
        "{capability}. In float32, {format} is not supported."
    ),
    "checkpoint-stored": lambda _, fields: (
        tr("The checkpoint is stored as {stored}, not {asked}.", stored=fields["format"], **fields),
    ),
    "file-stored": mark("This model's file is stored as {stored}, not {asked}."),
    "no-format": lambda _, fields: (tr("Unknown format: {format}.", format=fields["name"]),),
    "gguf-format": lambda _, fields: (
        tr("{format} is a format of GGUF files, which llama.cpp serves.", format=fields["name"]),
    ),
    "no-cache": mark("Unknown KV cache type: {dtype}."),
    "cpu-cache": mark("The KV cache is stored as {kept}, not {asked}."),
    "no-stack": lambda params, _: (tr("Unknown serving stack: {stack}.", **params),),
    # -- splits
    "mig-empty": mark("MIG is enabled on the {gpu}, but it has no instances."),
    "no-slice": mark("{stack} {version} is not known to start on a MIG slice by its UUID."),
    "mig": mark("MIG slices have neither NVLink nor peer-to-peer access, so a model cannot be split across them."),
    "few-gpus": lambda params, fields: (_stage(params, fields),),
    "over-max-gpus": lambda params, fields: (
        tr("GPUs for {split}: {gpus}, but --max-gpus is {most}.", **{**fields, "split": units.split(params)}),
    ),
    "few-for-replicas": lambda params, fields: (_replicas(params, fields),),
    "few-slices": mark("{asked} replicas need {asked} MIG slices of the same size; found {there} × {gpu}."),
    "replicas-over-max-gpus": mark("GPUs for {asked} replicas: {need}, but --max-gpus is {most}."),
    "replicas": mark("{asked} replicas are not possible: {stack} ({runtime}) can start {most} here."),
    "no-experts": mark("The model has no experts to distribute (--expert-parallel)."),
    "experts-alone": mark("Expert parallelism distributes experts over the GPUs of tp, so it needs tp 2 or more."),
    "experts-stack": mark("The wizard does not set up expert parallelism with {stack}."),
    "experts-format": mark("The wizard does not set up expert parallelism with {stack} for experts in {format}."),
    "experts-uneven": mark(
        "{stack} gives each GPU of tp the same number of whole experts: {experts} cannot be divided by {tp}."
    ),
    "experts-release": mark("Expert parallelism needs {stack} {since} or later; found {engine}."),
    "dp-dense": mark("The model has no experts, so data-parallel ranks would be replicas of it (--replicas)."),
    "dp-stack": mark("The wizard does not set up data parallelism with {stack}."),
    "dp-model": mark("The wizard does not set up data parallelism with {stack} for {model}."),
    "dp-stages": mark("Data parallelism is set up without pipeline stages only."),
    "dp-tp": mark("{stack} does not split the attention of a data-parallel rank, so it needs tp 1."),
    "dp-release": mark("Data parallelism needs {stack} {since} or later; found {engine}."),
    "speculative-stages": mark("Speculative decoding is set up without pipeline stages only."),
    "speculative-layers": mark(
        "{model} has no layers for multi-token prediction (MTP), or the wizard does not know their shape."
    ),
    "draft-alone": mark("The draft model {draft} is only used with --speculative eagle3."),
    "no-draft": mark(
        "EAGLE-3 needs a draft model that was trained for {model}: pass its repository or folder with --draft."
    ),
    "draft-architecture": mark(
        "The draft model {draft} is {architecture}; for EAGLE-3 the wizard sets up {wanted} only."
    ),
    "draft-size": mark("The memory of the draft model {draft} is not known: its weights or their sizes are missing."),
    "draft-other-model": mark(
        "The draft model {draft} was trained for another model: its vocabulary is {vocabulary:,} and its hidden size "
        "{hidden:,}; those of {model} are {of:,} and {width:,}."
    ),
    "speculative-checkpoint": mark(
        "The layers for multi-token prediction (MTP) may be missing in {ref}, which another publisher quantized."
    ),
    "speculative-model": mark(
        "The wizard does not set up speculative decoding ({method}) for {architecture} with {stack}."
    ),
    "speculative-stack": mark("The wizard does not set up speculative decoding ({method}) with {stack}."),
    "speculative-release": mark("Speculative decoding ({method}) needs {stack} {since} or later; found {engine}."),
    "speculative-states": mark(
        "Speculative decoding needs more memory for recurrent states, which the wizard does not count yet."
    ),
    "short-context": mark("A request has {need:,} tokens (--isl and --osl), but --max-len is {asked:,}."),
    # -- pace
    "slow-tokens": mark(
        "With --users {users}, the estimated time between tokens is {estimate_ms:.1f} ms; your limit is {asked_ms:g} "
        "ms."
    ),
    "slow-start": mark(
        "With --users {users} and prompts of {isl:,} tokens, the estimated time to first token is "
        "{estimate_ms:,.0f} ms; your limit is {asked_ms:g} ms."
    ),
    "slow-tokens-p99": mark(
        "With --users {users}, the slow end of the estimated time between tokens is {estimate_ms:.1f} ms; your limit "
        "is {asked_ms:g} ms."
    ),
    "slow-start-p99": mark(
        "With --users {users} and prompts of {isl:,} tokens, the slow end of the estimated time to first token is "
        "{estimate_ms:,.0f} ms; your limit is {asked_ms:g} ms."
    ),
    "limit-unproven": mark("The speed of this setup is unknown, so the wizard cannot check it against your limit."),
    "waiting-users": mark(
        "The KV cache has room for {served} of {users} users at once. The others wait, so the wizard cannot estimate "
        "their time to first token."
    ),
    "one-gpu": mark("The transformers baseline runs on one GPU only."),
    "stages": mark("{layers} layers cannot be split into {stages} stages."),
    "like-stages": mark("Engines need stages of equal size: {layers} layers are not divisible by pp {pp}."),
    "heads": mark("{heads} attention heads are not divisible by tp {tp}."),
    "kv-heads": mark("{heads} KV heads and tp {tp}: neither is divisible by the other."),
    "width": lambda params, fields: (
        tr(
            "The width of the {part} ({width}) is not divisible by tp {tp}.",
            **{**fields, "part": tr(str(params["part"]))},
        ),
    ),
    "group": lambda params, fields: (
        tr(
            "{format}: {part} width {width} ÷ tp {tp} = {each}, which is not a multiple of {unit}.",
            **{**fields, "part": tr(str(params["part"]))},
        ),
    ),
    "cpu-split": lambda _, fields: (
        tr(
            "The wizard serves GGUF files with one {stack} process, which places layers on the GPUs itself; --{name} "
            "{value} does not apply.",
            name=fields["option"],
            **fields,
        ),
    ),
    # -- memory
    "gpu-memory": _held,
    "busy": _busy,
    "holder": _holder,
    "hidden-holders": lambda params, fields: _on_gpu(tr("processes that are not visible from here"), params, fields),
    "host-memory": lambda params, fields: (
        tr(
            "{model} needs {size} of memory for {users} × {tokens:,} tokens; {budget} is available.",
            **{**fields, "users": units.users(params["users"])},
        ),
    ),
    # -- speed
    "no-figure": mark("{provider} has no estimate: {why}"),
    "layers-unknown": mark("the model's layers are unknown"),
    "float32-speed": mark("no server was measured in float32"),
    "offload-no-gpu": mark("the wizard gives llama.cpp whole GPUs only, not MIG slices."),
    "offload-small": mark("the model has {size} of weights, and below {least} CUDA's libraries are a larger download."),
    "offload-layers-unknown": mark(
        "the bytes of each layer are unknown, because the file's header was not read in full."
    ),
    "offload-no-room": _no_room,
    "offload-experts": mark("no model with experts was measured on a GPU and a CPU"),
    "offload-attention": mark("no model with recurrent states or sparse attention was measured"),
    "offload-users": mark("only single users were measured on a GPU and a CPU"),
    "offload-cpu-unmeasured": mark(
        "`triton-wizard probe --measure` has not measured this CPU, which serves some layers"
    ),
    "offload-throughput-unknown": mark("its throughput with layers on a GPU is unknown: no prompts were measured"),
    "throughput-unknown": mark("its throughput is unknown"),
    "experts-speed": mark("the estimates were not fitted to expert parallelism"),
    "speculative-speed": mark("with speculative decoding it depends on how many proposed tokens are accepted"),
    "rates-unknown": mark("the speed of the {gpu} is unknown"),
    "stack-unmeasured": mark("the wizard has no speed model for {stack}"),
    "weights-exceed": mark("the weights alone exceed the memory of {count} × {gpu}"),
    "needs-config": mark("it requires the model's config.json on disk"),
    "no-tables": lambda _, fields: (
        tr(
            "it has no data for {format} weights on the {gpu} with {stack}",
            **fields,
            format=fields["name"],
            stack=fields["title"],
        ),
    ),
    "no-answer": mark("it failed: {error}"),
    "no-number": mark("it returned no number"),
    # -- options
    "not-at-once": lambda _, fields: (
        tr(
            "The constraints cannot all be met; the model can be served without {flag}.",
            flag=f"--{str(fields['option']).replace('_', '-')}",
        ),
    ),
}
"""Texts of obstacles, by the code of the reason."""
PARTS = (mark("feed-forward"), mark("experts"), mark("shared experts"))
"""Parts of a layer whose widths must divide evenly."""
