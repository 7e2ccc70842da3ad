"""The model repository of an engine with a separate process and environment, behind ``proxy_model.py``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from wizard.advise.advice import Choice
from wizard.model.facts import ModelFacts
from wizard.repository.config_pbtxt import config_pbtxt
from wizard.repository.python_models import INPUTS, LOGPROBS, MORE_INPUTS, OUTPUTS, abilities, described, programs
from wizard.repository.repository import Repository, RepositoryFile

MODEL = Path(__file__).with_name("proxy_model.py")
REPLICAS = Path(__file__).with_name("engine_replicas.py")
"""The module that it imports."""
ENGINE_PROCESS = Path(__file__).with_name("engine_process.py")
"""The module that every engine program imports."""
CALL_PIECES = Path(__file__).with_name("call_pieces.py")
"""The module that it imports."""


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine program of a stack.

    Attributes:
        program: The file, for Python 3.9 or newer. It is copied beside ``engine_process.py`` and run by the engine
            environment's interpreter with one argument, its settings as JSON; the wizard never imports it.
        every_setting: Whether it also supports `wizard.repository.python_models.MORE_INPUTS` and log probabilities.
    """

    program: Path
    every_setting: bool = False

    def argv(self, python: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
        """The engine's command. It is started in the folder of the model's version.

        Args:
            python: The engine environment's interpreter; ``python3`` in a container.
            settings: The program's settings.
        """
        return (python, f"engines/{self.program.name}", json.dumps(settings, ensure_ascii=False))


def repository(
    model_name: str,
    *,
    engine: Engine,
    python: str,
    settings: Mapping[str, Any],
    env: Mapping[str, str | None],
    facts: ModelFacts,
    choice: Choice,
    replicas: Sequence[Mapping[str, str]] = ({},),
) -> Repository:
    """The repository that serves ``facts`` as ``choice`` under ``model_name``; the engine's program is in it.

    Args:
        model_name: Name in Triton.
        engine: The engine program.
        python: See `Engine.argv`.
        settings: See `Engine.argv`.
        env: Differences between the engine's environment and the server's; None removes a variable. The stub's
            ``LD_LIBRARY_PATH`` and ``PATH`` are meant for the stub's own interpreter.
        facts: The model: chat format and questions.
        choice: The choice: context of each request.
        replicas: For each engine that is started, what else is different in its environment: its GPUs.
    """
    more = abilities(facts, choice)
    parameters = {
        "engine_argv": json.dumps(engine.argv(python, settings), ensure_ascii=False),
        "engine_env": json.dumps(dict(env), ensure_ascii=False),
        **({"engine_replicas": json.dumps([dict(own) for own in replicas])} if len(replicas) > 1 else {}),
        **described(facts, choice),
        **more.parameters,
    }
    config = config_pbtxt(
        model_name,
        inputs=(*INPUTS, *(MORE_INPUTS if engine.every_setting else ()), *more.inputs),
        outputs=(*OUTPUTS, *((LOGPROBS,) if engine.every_setting else ()), *more.outputs),
        parameters=parameters,
        decoupled=True,
    )
    return Repository(
        (
            RepositoryFile(f"{model_name}/config.pbtxt", config),
            *programs(model_name, MODEL, (ENGINE_PROCESS, CALL_PIECES, engine.program), (REPLICAS,)),
        )
    )
