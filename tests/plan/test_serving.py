"""The steps at the end of every plan: what they do, when they are done, and what they take."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.plan.test_native import TOGETHER
from wizard.plan.plan import Command, Done, Estimate, Wait, Write
from wizard.plan.ports import Ports
from wizard.plan.serving import question_step, repository_step, serve_steps
from wizard.repository.repository import Repository, RepositoryFile

FILES = (RepositoryFile("demo/config.pbtxt", "four"), RepositoryFile("demo/1/model.py", "eleven char"))
FOLDER = "/w/servers/demo/repository"


def test_a_repository_takes_what_its_texts_take_and_is_done_when_they_are_there() -> None:
    step = repository_step(TOGETHER, Repository(FILES), "Why.", Command(("true",)), reads=("model",))
    paths = (f"{FOLDER}/demo/config.pbtxt", f"{FOLDER}/demo/1/model.py")
    assert step.actions == (Command(("true",)), Write(paths[0], "four"), Write(paths[1], "eleven char"))
    assert step.done == Done(files=paths)
    assert step.estimate == Estimate(0.1, 0, 15)
    assert (step.reads, step.writes) == (("model",), ("repository",))
    assert step.why.endswith(" Why.")


def test_a_server_is_done_while_it_runs_and_nobody_knows_how_long_it_loads() -> None:
    action = TOGETHER.start("m", Ports(1, 2, 3), "mark")
    start, ready = serve_steps(action, ("model",), 600)
    assert (start.actions, start.done, start.estimate) == ((action,), Done((), server=True), Estimate(0.5))
    assert (start.reads, start.writes) == (("model",), ("server", "endpoint"))
    assert (ready.actions, ready.done) == ((Wait("m", Ports(1, 2, 3), 600),), Done((), server=False))
    assert ready.estimate == Estimate(0, 0, 0, unknown=True)
    _, ready = serve_steps(action, (), 600, Estimate(7))
    assert ready.estimate == Estimate(7)


def test_a_first_question_is_asked_as_a_user_asks() -> None:
    step = question_step(TOGETHER, "Who?")
    argv = (sys.executable, "-m", "wizard", "chat", "demo", "--workspace", "/w", "--max-tokens", "128")
    assert step.actions == (Command((*argv, "--message", "Who?")),)
    assert (step.estimate, step.done) == (Estimate(2), Done())
    assert Path(argv[6]) == TOGETHER.workspace.root
