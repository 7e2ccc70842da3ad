"""The plan of SGLang, and its program, against the names that SGLang's wheels have (`contract.json`)."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.plan.stack_values import FACTS, SGLANG, commands, engine, ids, machine, named, planned, start
from tests.stacks.trtllm_values import AWQ, model
from wizard.advise.advice import Wishes
from wizard.advise.ranking import advise
from wizard.catalog.environments import environment
from wizard.kernel.errors import InfeasibleError
from wizard.model.facts import ModelFacts
from wizard.model.known import known
from wizard.model.refs import HubRef
from wizard.plan.plan import Step
from wizard.probe.shorthand import host
from wizard.stacks.sglang.plan import ENGINE
from wizard.texts.errors import worded
from wizard.texts.notes import NOTES  # noqa: F401
