"""Every question of the wizard, declared once. Interfaces render them; flags and files (see `answers`) answer them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from wizard.catalog import goals, stacks
from wizard.kernel.language import mark
from wizard.plan.question import Question
from wizard.plan.validation import (
    between,
    full_format,
    known_format,
    known_release,
    python_path,
    reference,
    samples,
    server,
    share,
)

if TYPE_CHECKING:
    from wizard.advise.advice import Constraints

CHOSEN = mark("the wizard chooses")
"""Meaning of an empty answer to most constraints."""
NO_PYTHON = "none"
"""Answer to `ENGINE_PYTHON`: an engine that the wizard installs, or the image's, without a question."""

MODEL = Question(
    "model",
    "text",
    mark("Which model?"),
    "MODEL",
    required=True,
    validate=reference,
    help=mark("A recipe (demo), a model ID (org/name), a folder, or a .gguf file."),
)
GOAL = Question(
    "goal",
    "choice",
    mark("What matters most?"),
    "--goal",
    default="chat",
    choices=goals.GOALS,
    help=mark(
        "chat, documents, code: quick answers; throughput: most tokens; quality: best precision; smallest: fewest GPUs."
    ),
)
USERS = Question(
    "users",
    "int",
    mark("Number of concurrent users"),
    "--users",
    default=goals.DEFAULT_USERS,
    validate=between(1, 1_000_000),
    help=mark("Each user gets a share of the KV cache, so more users need more memory."),
)
MAX_LEN = Question(
    "max_len",
    "int",
    mark("Tokens per user (prompt plus answer)"),
    "--max-len",
    otherwise=CHOSEN,
    validate=between(1, 10_000_000),
    help=mark("A token is about three quarters of a word. More tokens need a larger KV cache."),
)
ISL = Question(
    "isl",
    "int",
    mark("Prompt length (tokens)"),
    "--isl",
    otherwise=mark("typical for the goal"),
    validate=between(1, 10_000_000),
    help=mark("Input sequence length that estimates assume; requests of this length must fit."),
)
OSL = Question(
    "osl",
    "int",
    mark("Answer length (tokens)"),
    "--osl",
    otherwise=mark("typical for the goal"),
    validate=between(1, 1_000_000),
    help=mark("Output sequence length that estimates assume; requests of this length must fit."),
)
TTFT = Question(
    "ttft",
    "float",
    mark("Maximum time to first token (ms)"),
    "--ttft",
    otherwise=mark("typical, but not a limit"),
    validate=between(1, 86_400_000),
    help=mark("Setups with a slower estimate are rejected."),
)
TPOT = Question(
    "tpot",
    "float",
    mark("Maximum time between tokens (ms)"),
    "--tpot",
    otherwise=mark("typical, but not a limit"),
    validate=between(0.1, 60_000),
    help=mark("50 ms is 20 tokens/s. Setups with a slower estimate are rejected."),
)
P99 = Question(
    "p99",
    "confirm",
    mark("Apply limits to the slowest requests"),
    "--p99",
    default=False,
    help=mark("Compares --ttft and --tpot with the slow end of the estimate instead of its middle."),
)
REPLICAS = Question(
    "replicas",
    "int",
    mark("Replicas"),
    "--replicas",
    otherwise=CHOSEN,
    validate=between(1, 1024),
    help=mark("Copies of the model on separate GPUs, behind one address: for more users, not faster answers."),
)
QUANTIZATION = Question(
    "quantization",
    "text",
    mark("Weight format"),
    "--quantization",
    otherwise=CHOSEN,
    validate=known_format,
    full=full_format,
    help=mark(
        "none (16 bits), fp8, int4_awq, int4_gptq, nvfp4 …: fewer bits make the model smaller and faster, but "
        "less precise."
    ),
)
TP = Question(
    "tp",
    "int",
    mark("Tensor parallel size"),
    "--tp",
    otherwise=CHOSEN,
    validate=between(1, 1024),
    help=mark("Number of GPUs each layer is split across (must be identical GPUs)."),
)
PP = Question(
    "pp",
    "int",
    mark("Pipeline parallel size"),
    "--pp",
    otherwise=CHOSEN,
    validate=between(1, 1024),
    help=mark("Number of GPU groups that process the layers in turn."),
)
DP = Question(
    "dp",
    "int",
    mark("Data parallel size"),
    "--dp",
    otherwise=CHOSEN,
    validate=between(1, 1024),
    help=mark(
        "For models with experts: number of ranks that each hold the whole attention and the KV cache of their "
        "users, while the experts are spread over all GPUs."
    ),
)
EXPERT_PARALLEL = Question(
    "expert_parallel",
    "confirm",
    mark("Whole experts on each GPU"),
    "--expert-parallel",
    default=False,
    help=mark("Distributes a model's experts over the GPUs of tp instead of splitting each (expert parallelism)."),
)
SPECULATIVE = Question(
    "speculative",
    "choice",
    mark("Speculative decoding"),
    "--speculative",
    otherwise=mark("none"),
    choices=("none", "ngram", "mtp", "eagle3"),
    help=mark(
        "ngram proposes tokens that followed the same words before: faster if answers repeat the prompt. mtp uses the "
        "model's own layers for it, eagle3 a draft model (--draft)."
    ),
)
DRAFT = Question(
    "draft",
    "text",
    mark("Draft model"),
    "--draft",
    otherwise=mark("none"),
    validate=reference,
    help=mark("The EAGLE-3 model that was trained for the served one: a model ID (org/name) or a folder."),
)
KV_DTYPE = Question(
    "kv_dtype",
    "choice",
    mark("KV cache type"),
    "--kv-dtype",
    otherwise=CHOSEN,
    choices=("auto", "fp8", "f16", "float16", "bfloat16"),
    help=mark("auto uses the model's own type; fp8 holds twice as many tokens."),
)
STACK = Question(
    "stack",
    "choice",
    mark("Serving stack"),
    "--stack",
    otherwise=CHOSEN,
    choices=stacks.names,
    help=mark("The engine that runs the model behind Triton."),
)
MAX_GPUS = Question(
    "max_gpus",
    "int",
    mark("Maximum number of GPUs"),
    "--max-gpus",
    otherwise=mark("all"),
    validate=between(0, 1024),
    help=mark("The other GPUs stay free; 0 serves GGUF files on the CPU."),
)
GPU_MEMORY_UTILIZATION = Question(
    "gpu_memory_utilization",
    "float",
    mark("Share of GPU memory to use"),
    "--gpu-memory-utilization",
    otherwise=CHOSEN,
    validate=share,
    help=mark("Fraction of the GPU's total memory (above 0, at most 1), as in vLLM."),
)
AS_PUBLISHED = Question(
    "as_published",
    "confirm",
    mark("Serve the model as published"),
    "--as-published",
    default=False,
    help=mark("Excludes other quantizations of the model from the recommendations."),
)
RELEASE = Question(
    "release",
    "text",
    mark("Release of the Triton image"),
    "--release",
    otherwise=mark("the newest that can run here"),
    validate=known_release,
    help=mark("A tag (24.09), or the engine version in it (0.13.0)."),
)
RUNTIME = Question(
    "runtime",
    "choice",
    mark("Runtime"),
    "--runtime",
    otherwise=CHOSEN,
    choices=("native", "docker", "podman"),
    help=mark("native runs the server as a process on this machine; docker and podman run NVIDIA's image."),
)
ENGINE_PYTHON = Question(
    "engine_python",
    "text",
    mark("Engine's Python interpreter"),
    "--engine-python",
    otherwise=mark("a new environment or the image"),
    validate=python_path,
    help=mark(
        "An interpreter with vLLM or transformers (/opt/venv/bin/python), or none to have the wizard "
        "install the engine."
    ),
)
COST_PER_HOUR = Question(
    "cost_per_hour",
    "float",
    mark("Cost of the whole machine per hour"),
    "--cost-per-hour",
    otherwise=mark("no costs are shown"),
    validate=between(0.0001, 1_000_000),
    help=mark("In any currency. Shows what a million output tokens cost at the estimated throughput."),
)
HF_TOKEN = Question(
    "hf_token",
    "secret",
    mark("Your Hugging Face token"),
    mark("the environment variable HF_TOKEN"),
    otherwise=mark("choose another model"),
    validate=reference,
    help=mark("Accept the license on the model's page, then create a token at https://huggingface.co/settings/tokens."),
)
NAME = Question(
    "name",
    "text",
    mark("Server name"),
    "--name",
    otherwise=mark("derived from the model's name"),
    validate=server,
    help=mark("Lowercase letters, digits, '.', '_' and '-'; also the model's name in Triton."),
)
HTTP_PORT = Question(
    "http_port",
    "int",
    mark("First port to try (gRPC and metrics follow)"),
    "--http-port",
    default=8000,
    validate=between(1, 65_533),
    help=mark("If the port is in use, the wizard picks a higher one and reports it."),
)
ACCEPT = Question("accept", "confirm", mark("Start?"), "--yes", required=True, help=mark("Execute the plan."))
SYSTEM = Question(
    "system",
    "text",
    mark("System prompt"),
    "--system",
    otherwise=mark("none"),
    help=mark("Tells the model how to behave in every answer."),
)
TEMPERATURE = Question(
    "temperature",
    "float",
    mark("Temperature"),
    "--temperature",
    otherwise=mark("the model's default"),
    validate=between(0, 2),
    help=mark("0 always picks the most likely token; above 1, answers become erratic."),
)
TOP_P = Question(
    "top_p",
    "float",
    mark("Top-p"),
    "--top-p",
    default=0.95,
    when=samples,
    validate=share,
    help=mark("Only the most likely tokens that together reach this probability are considered."),
)
MAX_TOKENS = Question(
    "max_tokens",
    "int",
    mark("Maximum answer length in tokens"),
    "--max-tokens",
    otherwise=mark("512, thinking models 4,096"),
    validate=between(1, 1_000_000),
    help=mark("Longer answers are cut off."),
)
SEED = Question(
    "seed",
    "int",
    mark("Seed"),
    "--seed",
    otherwise=mark("random: answers differ"),
    when=samples,
    validate=between(0, 2**63 - 1),
    help=mark("The same seed and question give the same answer."),
)

CONSTRAINTS = (GOAL, USERS, MAX_LEN)
"""Constraints for all users."""
SETUP = (
    *(QUANTIZATION, TP, PP, DP, EXPERT_PARALLEL, SPECULATIVE, DRAFT, KV_DTYPE, STACK, MAX_GPUS, GPU_MEMORY_UTILIZATION),
    *(AS_PUBLISHED, RELEASE, RUNTIME, ENGINE_PYTHON, REPLICAS, ISL, OSL, TTFT, TPOT, P99, COST_PER_HOUR),
)
"""Constraints for experts. A given value is never changed, only rejected."""
SERVER = (NAME, HTTP_PORT)
CHAT = (SYSTEM, TEMPERATURE, TOP_P, MAX_TOKENS, SEED)
QUESTIONS = (MODEL, HF_TOKEN, *CONSTRAINTS, *SETUP, *SERVER, ACCEPT, *CHAT)
"""All questions, in order."""
BY_NAME = {question.name: question for question in QUESTIONS}


def constraints(answers: Mapping[str, object]) -> Constraints:
    """The constraints in the answers, for the advice.

    Raises:
        UsageError: TW-U31 or TW-U32 if an answer does not fit.
    """
    from wizard.advise.advice import Constraints

    checked = {
        question.name: question.check(answers[question.name])
        for question in (*CONSTRAINTS, *SETUP)
        if question.name in answers
    }
    if checked.get(ENGINE_PYTHON.name) == NO_PYTHON:
        del checked[ENGINE_PYTHON.name]
    return Constraints(**checked)  # type: ignore[arg-type]  # checked
