"""The model repository of an engine that has a process and an environment of its own, behind ``front_model.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from wizard.advise.advice import Choice
from wizard.model.facts import ModelFacts
from wizard.repository.config_pbtxt import config_pbtxt
from wizard.repository.repository import Repository, RepositoryFile
from wizard.stacks.llamacpp.repository import INPUTS, LOGPROBS, MORE_INPUTS, OUTPUTS, described, programs

EngineName: TypeAlias = Literal["vllm", "transformers", "trtllm"]

ENGINES = Path(__file__).with_name("engines")


def repository(
    model_name: str,
    *,
    engine_argv: Sequence[str],
    engine_env: Mapping[str, str | None],
    facts: ModelFacts,
    choice: Choice,
) -> Repository:
    """The repository that serves ``facts`` as ``choice`` under ``model_name``; the engine's programs are in it.

    Args:
        model_name: Name in Triton.
        engine_argv: The engine's command, see `engine_argv`. It is started in the folder of the model's version, so
            it is the same wherever the repository lies.
        engine_env: What is different in the engine's environment from the server's; None takes a variable away. The
            stub's ``LD_LIBRARY_PATH`` and ``PATH`` are meant for the stub's own interpreter.
        facts: For the chat format and the questions.
        choice: For the context of each request.
    """
    parameters = {
        "engine_argv": json.dumps(list(engine_argv), ensure_ascii=False),
        "engine_env": json.dumps(dict(engine_env), ensure_ascii=False),
        **described(facts, choice),
    }
    whole = _program("vllm") in engine_argv  # the others' samplers take and give less
    config = config_pbtxt(
        model_name,
        inputs=(*INPUTS, *(MORE_INPUTS if whole else ())),
        outputs=(*OUTPUTS, *((LOGPROBS,) if whole else ())),
        parameters=parameters,
        decoupled=True,
    )
    return Repository(
        (
            RepositoryFile(f"{model_name}/config.pbtxt", config),
            *programs(model_name, "front_model.py"),
            *(
                RepositoryFile(f"{model_name}/1/engines/{one.name}", one.read_text(encoding="utf-8"))
                for one in sorted(ENGINES.glob("*.py"))
            ),
        )
    )


def engine_argv(engine: EngineName, python: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
    """The command of one of the wizard's engine programs.

    Args:
        engine: Which.
        python: The engine environment's interpreter; ``python3`` in a container.
        settings: For ``vllm`` see `wizard.repository.vllm.engine_args`, for ``transformers`` `transformers_settings`,
            for ``trtllm`` `wizard.repository.trtllm_llmapi.llm_args`.
    """
    return (python, _program(engine), json.dumps(settings, ensure_ascii=False))


def _program(engine: EngineName) -> str:
    return f"engines/{engine}_engine.py"


def transformers_settings(model: str, choice: Choice, *, unbatched: bool = False) -> dict[str, Any]:
    """The settings of ``transformers_engine.py``.

    Args:
        model: The model's folder, as the engine sees it.
        choice: For dtype, context, requests at once and GPUs.
        unbatched: The plain pipeline, one request at a time.
    """
    return {
        "model": model,
        "mode": "unbatched" if unbatched else "continuous",
        "dtype": choice.dtype if choice.dtype in ("bfloat16", "float16", "float32") else "auto",
        "max_seq_len": choice.max_seq_len,
        "max_batch_size": choice.max_batch_size,
        "tp": choice.tp,
    }
