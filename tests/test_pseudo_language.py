"""Everything that the lower packages say goes through the catalog: nothing of it is English in a marked language."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests import field_marks
from tests.advise.worlds import AWQ, CONFIGS, LLAMA_8B, LLAMA_70B, VENV, busy, facts_of, machine, sliced
from tests.probe.fake_driver import HOSTS
from wizard.advise import calibration, comparison, providers, refusals
from wizard.advise import engine_python as own_engine
from wizard.advise.advice import Choice, Constraints
from wizard.advise.cases import cases
from wizard.advise.ranking import advise
from wizard.advise.setup import Setup
from wizard.advise.speed import Load
from wizard.catalog import gpus, profiles, recipes, releases, stacks
from wizard.catalog.checkpoints import CheckpointTable
from wizard.catalog.environments import engines as engine_environments
from wizard.catalog.models import curated
from wizard.kernel import units
from wizard.kernel.errors import EXIT_CODES, WizardError
from wizard.kernel.language import tr
from wizard.kernel.lock import writing
from wizard.kernel.paths import Workspace, server_name
from wizard.kernel.values import from_json
from wizard.model import gguf, local, refs, safetensors, source, untrusted
from wizard.model import report as model_report
from wizard.model.facts import ModelFacts, WeightFile
from wizard.model.formats import FORMATS
from wizard.model.hub import errors as hub_errors
from wizard.model.refs import HubRef
from wizard.probe import engine_python, engines, hardware, interpreters, nvml_library, ports, shorthand
from wizard.probe import report as probe_report
from wizard.probe.ask import Asked
from wizard.probe.host import ContainerEngine, Host
from wizard.texts import advise as texts
from wizard.texts import explain, reasons, remedies, report
from wizard.texts.errors import user_errors

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "wizard"
UNITS = "B KiB MiB GiB TiB GB ms tp pp max min post"
NAMES = "CPU GPU CUDA Triton Python Linux NVIDIA MIG NVLink PCIe PyTorch GGUF llama.cpp GQA MQA docker pid"
STEMS = "fp block sq bf int awq gptq nvfp mxfp wo bfloat float auto none"
STACKS = "llamacpp vllm trtllm-engine trtllm-llmapi transformers"
FLAGS = "quantization stack tp pp max-len users max-gpus kv-dtype release gpu-memory-utilization gpu memory utilization"
SHARES = "free_gpu_memory_fraction kv_cache_free_gpu_mem_fraction"
OWN = f"--engine-python --runtime native docker podman {VENV.path} {' '.join(VENV.packages)} tensorrt_llm +cu130"
ARM = "aarch64 docker manifest inspect nvcr.io/nvidia/tritonserver trtllm-python-py3 vllm-python-py3"
COMMANDS = "uv python install"
KNOWN = (UNITS, NAMES, STEMS, STACKS, FLAGS, SHARES, OWN, ARM, COMMANDS)


@pytest.fixture(autouse=True)
def speaking(isolated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The marked language, after the tests' own choice of English."""
    field_marks.speak(monkeypatch)


def data() -> list[str]:
    """Names and sources that stay as they are in every language."""
    table = profiles.load(CheckpointTable, profiles.find("checkpoints.toml"))
    images = [releases.images(family) for family in releases.families()]
    return [
        *KNOWN,
        *CONFIGS,
        *(each for config in CONFIGS.values() for each in config.get("architectures") or ()),
        *(name for gpu in gpus.gpus().values() for name in gpu.names),
        *(stacks.facts(name).title for name in stacks.names()),
        *(each.label for each in FORMATS.values() if each.label not in field_marks.messages()),
        *(text for model in curated().values() for text in (model.repo, model.gguf or "", *model.files)),
        "modelopt",
        *(checkpoint.ref for family in table.families for checkpoint in family.checkpoints),
        *(
            engine_environment.engine
            for stack in ("vllm", "transformers", "llamacpp")
            for engine_environment in engine_environments(stack)
        ),
        *(text for image in images for text in (image.gpu_source, image.source)),
    ]


def about(host: Host, facts: ModelFacts, constraints: Constraints) -> Iterator[str]:
    """All that can be read of one advice."""
    advice = advise(host, facts, constraints)
    for choice in advice.choices:
        yield from _choice(choice, advice.choices[0])
    for choice in advice.choices[:2]:
        for figure in explain.figures(host, facts, choice):
            yield from (figure.name, figure.result, figure.formula)
    for why in advice.rejections:
        yield reasons.text(why.reason)
        yield from (remedies.text(why.remedies), remedies.text(why.remedies, flags=False))
    yield from (texts.setups(refusal) for refusal in refusals.grouped(advice.rejections))


def _choice(choice: Choice, first: Choice) -> Iterator[str]:
    yield from (report.choice_title(choice), report.choice_room(choice), report.bill_title(choice))
    yield from (report.pace(choice.speed), report.speed_sentence(choice.speed))
    yield from (text for part in report.bill(choice.memory) for text in (part.name, part.about))
    yield from (texts.note(note) for note in (*choice.reasons, *choice.warnings))
    yield from (
        texts.note(comparison.behind("chat", criterion, choice, first)) for criterion in (*comparison.WHY, None)
    )


WORLDS = {
    "one-gpu": lambda: (machine("1xA6000"), facts_of(LLAMA_8B), Constraints()),
    "throughput": lambda: (machine("8xH100"), facts_of(LLAMA_70B), Constraints(goal="throughput")),
    "smallest": lambda: (machine("4xL4"), facts_of(LLAMA_8B), Constraints(goal="smallest")),
    "old": lambda: (machine("2xT4"), facts_of(LLAMA_8B), Constraints()),
    "too-large": lambda: (machine("1xL4"), facts_of(LLAMA_70B), Constraints(users=64, max_len=16384)),
    "uneven": lambda: (machine("4xA6000"), facts_of(LLAMA_8B), Constraints(tp=3)),
    "awq": lambda: (machine("2xA100"), facts_of(LLAMA_8B, quantization_config=AWQ), Constraints(tp=2)),
    "busy": lambda: (busy("2xA100", 30 << 30), facts_of(LLAMA_8B), Constraints(gpu_memory_utilization=0.9)),
    "slices": lambda: (sliced("A100", "3g.20gb", 20 << 30, 2), facts_of(LLAMA_8B), Constraints()),
    "release": lambda: (machine("8xH100"), facts_of(LLAMA_8B), Constraints(release="24.09")),
    "no-release": lambda: (machine("8xH100"), facts_of(LLAMA_8B), Constraints(release="9.99")),
    "no-stack": lambda: (machine("8xH100"), facts_of(LLAMA_8B), Constraints(stack="vllm", quantization="q9")),
    "no-gpu": lambda: (machine("cpu"), facts_of(LLAMA_8B), Constraints()),
    "gguf": lambda: (machine("cpu"), on_cpu(), Constraints()),
    "gguf-refused": lambda: (machine("1xL4"), on_cpu(), Constraints(tp=2, max_len=10**6, quantization="q4_0")),
    "no-containers": lambda: (replace(machine("1xL4"), engines=()), facts_of(LLAMA_8B), Constraints()),
    "native": lambda: (here("1xL4"), facts_of(LLAMA_8B), Constraints()),
    "runtime-refused": lambda: (here("1xL4"), facts_of(LLAMA_8B), Constraints(runtime="docker")),
    "arm": lambda: (_on("aarch64", machine("1xL4")), facts_of(LLAMA_8B), Constraints()),
    "own": lambda: (with_own("1xL4"), facts_of(LLAMA_8B), Constraints(engine_python=VENV.path)),
    "own-refused": lambda: (with_own("1xL4", cuda=None), facts_of(LLAMA_8B), Constraints(engine_python=VENV.path)),
    "own-and-image": lambda: (
        with_own("1xL4"),
        facts_of(LLAMA_8B),
        Constraints(engine_python=VENV.path, runtime="docker"),
    ),
}


def with_own(text: str, **changes: Any) -> Host:
    """A machine with a Python that has engines."""
    return replace(machine(text), engine_pythons=(replace(VENV, **changes),))


def _on(architecture: str, host: Host) -> Host:
    return replace(host, cpu=replace(host.cpu, architecture=architecture))


def here(text: str) -> Host:
    """A machine that is taken to be this one, whose docker does not answer."""
    silent = ContainerEngine("docker", "28.0", None, None)
    return replace(machine(text), source="this machine", engines=(silent,))


def on_cpu() -> ModelFacts:
    """A model as a GGUF file."""
    facts = facts_of(LLAMA_8B)
    file = WeightFile("model.gguf", 8 << 30, "gguf")
    return replace(facts, weights=(file,), weight_bytes=8 << 30, gated=True, chat=None)


@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_an_advice(world: Callable[[], tuple[Host, ModelFacts, Constraints]]) -> None:
    shown = list(about(*world()))
    assert shown
    assert field_marks.untranslated(shown, data()) == {}


def test_the_advice_of_many_cases() -> None:
    parsed = [case for _, case in cases(TESTS / "cases" / "advice.yaml")]
    shown = [text for case in parsed[::20] if isinstance(case, tuple) for text in about(*case)]
    ids = [case[1].ref for case in parsed if isinstance(case, tuple)]
    machines = [gpu.name for case in parsed if isinstance(case, tuple) for gpu in case[0].gpus]
    assert len(shown) > 500
    assert field_marks.untranslated(shown, [*data(), *ids, *machines]) == {}


def test_what_was_measured() -> None:
    host, facts = machine("1xA6000"), facts_of(LLAMA_8B)
    choice = advise(host, facts, Constraints()).choices[0]
    measurement = calibration.Measurement(
        "2026-01-02T03:04:05Z", "tiny", "NVIDIA RTX A6000", choice.release, 2, LLAMA_8B, choice, calibration.Measured()
    )
    notes = [texts.note(calibration.corrected(choice, measurement, by).reasons[-1]) for by in (-5, 0, 5)]
    shown = [calibration.text(measurement), calibration.summary(measurement), *notes]
    assert field_marks.untranslated(shown, [*data(), "tiny"]) == {}


@pytest.mark.parametrize("users", [1, 4, 100_000])
def test_an_estimate(users: int) -> None:
    load = Load(users)
    setup = Setup("vllm", "bfloat16", "none", "auto", 1, 1)
    speed = providers.ask(machine("1xA6000"), facts_of(LLAMA_8B), setup, load)
    assert field_marks.untranslated([providers.text(speed, load)], [*data(), "roofline"]) == {}


@pytest.mark.parametrize("model", CONFIGS)
def test_a_model(model: str) -> None:
    facts = facts_of(model)
    assert (
        field_marks.untranslated([model_report.text(facts)], [*data(), *filter(None, [facts.dtype, facts.rope])]) == {}
    )


def test_what_is_unknown_of_a_model() -> None:
    facts = ModelFacts("x", "hub", "x", "x", None, None, gated=True, needs_remote_code=True)
    unknown = {**facts_of(LLAMA_8B, num_hidden_layers=None, vocab_size=None).unknown}
    assert unknown
    assert (
        field_marks.untranslated([model_report.text(replace(facts, unknown=unknown))], ["num_hidden_layers vocab_size"])
        == {}
    )


def recorded(path: Path) -> Host:
    """A recorded machine without what the recording itself says in English."""
    host = hardware.find(str(path), path)
    able = tuple(each for each in host.interpreters if each.usable)
    answering = tuple(replace(each, problem=None) for each in host.engines)
    return replace(host, gpu_problem=None, unknown={}, interpreters=able, engines=answering)


@pytest.mark.parametrize("path", sorted(HOSTS.glob("host-*.json")), ids=lambda path: path.stem)
def test_a_machine(path: Path) -> None:
    host = recorded(path)
    own = [
        host.source,
        host.system.name,
        host.cpu.model or "",
        " ".join(host.cpu.flags),
        host.disk.path,
        "docker glibc",
    ]
    own += [host.system.container or "", *(each.path for each in host.interpreters), *(gpu.name for gpu in host.gpus)]
    own += [host.cpu.architecture, *(link.kind for link in host.gpu_links)]
    shown = [probe_report.text(host), *(text for pair in probe_report.brief(host) for text in pair)]
    assert field_marks.untranslated(shown, [*KNOWN, *own]) == {}


DESCRIBED = {
    "busy": lambda: busy("2xA100", 10**10),
    "slices": lambda: sliced("A100", "3g.20gb", 20 << 30, 2),
    "cpu": lambda: machine("cpu"),
}


@pytest.mark.parametrize("made", DESCRIBED.values(), ids=DESCRIBED)
def test_a_machine_that_is_only_described(made: Callable[[], Host]) -> None:
    host = made()
    own = ["Ubuntu LTS glibc NV docker usr bin python avx bmi fma cpu xA gb", *(gpu.name for gpu in host.gpus)]
    assert field_marks.untranslated([probe_report.text(host)], [*KNOWN, *own]) == {}


def test_why_a_part_of_a_machine_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    shown = [engines._docker_problem(text) for text in ("permission denied", "cannot connect", "")]
    shown += [str(interpreters._why_not(*arguments)) for arguments in WHY_NOT]
    shown += [Asked(["/nowhere"]).answer().err]
    assert (
        field_marks.untranslated(
            shown, ["nowhere No such file or directory", "sudo apt install libpython so uv python pyenv"]
        )
        == {}
    )


WHY_NOT = (
    ((3, 8), "3.8.1", "/usr", None),
    ((3, 14), "3.14.0", "/usr", None),
    ((3, 12), "3.12.1", "/usr", None),
    ((3, 12), "3.12.1", "/opt", None),
)
REF = HubRef("org/name")
NETWORK = OSError("refused")


def _http(status: int) -> Exception:
    error = RuntimeError("refused")
    error.response = SimpleNamespace(status_code=status)  # type: ignore[attr-defined]
    return error


def _of_hub(name: str) -> Exception:
    return type(name, (Exception,), {})("refused")


def _raised(work: Callable[[], object]) -> WizardError:
    with pytest.raises(WizardError) as caught, user_errors():
        work()
    return caught.value


def _foreign(root: Path) -> None:
    library = root / "usr/lib64/libnvidia-ml.so.1"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"\x7fELF\x01")
    raise nvml_library.not_loaded(NO_LIBRARY, root)


def _environment(folder: Path) -> Path:
    python = folder / "bin/python"
    python.parent.mkdir()
    python.touch()
    return folder


def _locked(folder: Path) -> None:
    workspace = Workspace.at(folder)
    with writing(workspace), writing(workspace):
        pass


ERRORS: dict[str, Callable[[Path], object]] = {
    "TW-A02": lambda tmp: list(cases(tmp)),
    "TW-A08": lambda _: providers.ask(machine("cpu"), facts_of(LLAMA_8B), Setup("vllm", "", "none", "", 1, 1), Load(1)),
    "TW-A11": lambda _: providers.ask(
        machine("L4"), facts_of(LLAMA_8B), Setup("vllm", "", "none", "", 1, 1), Load(1, 10**6)
    ),
    "TW-A20": lambda _: own_engine.check(with_own("1xL4"), Constraints(engine_python=VENV.path, runtime="docker")),
    "TW-A21": lambda _: own_engine.check(with_own("1xL4", packages={}), Constraints(engine_python=VENV.path)),
    "TW-A22": lambda _: own_engine.check(
        with_own("1xL4", packages={"vllm": "0.1"}), Constraints(engine_python=VENV.path)
    ),
    "TW-A23": lambda _: own_engine.check(with_own("1xL4", cuda=None), Constraints(engine_python=VENV.path)),
    "TW-D01": lambda _: profiles.find("nowhere.toml"),
    "TW-D02": profiles.load_toml,
    "TW-D03": lambda _: recipes.recipe("nowhere"),
    "TW-K01": lambda _: from_json(HubRef, "{}", where="nowhere"),
    "TW-K02": lambda _: from_json(HubRef, "{", where="nowhere"),
    "TW-K04": _locked,
    "TW-U01": lambda _: server_name("NO"),
    "TW-M01": lambda _: refs.parse_ref("nowhere"),
    "TW-M01 empty": lambda _: source.find(""),
    "TW-M02": lambda _: local.of_path(Path("nowhere"), "nowhere"),
    "TW-M03": lambda tmp: local.of_path(tmp, "nowhere"),
    "TW-M04": lambda _: untrusted.parse_object(b"[]", "nowhere"),
    "TW-M04 deep": lambda _: untrusted.parse_object(b"[" * 100_000, "nowhere"),
    "TW-M05": lambda _: untrusted.whole({"field": "x"}, "field", 9, "nowhere"),
    "TW-M05 large": lambda _: untrusted.whole({"field": 1 << 200}, "field", 9, "nowhere"),
    "TW-M07": lambda _: _raise(safetensors.damaged(Path("nowhere"), "")),
    "TW-M09": lambda _: gguf.parse_beginning(b"GGML" * 9, 99, "nowhere"),
    "TW-M11": lambda _: _raise(hub_errors.translated(_of_hub("RepositoryNotFoundError"), REF)),
    "TW-M12": lambda _: _raise(hub_errors.translated(_of_hub("GatedRepoError"), REF)),
    "TW-M12 closed": lambda _: _raise(hub_errors.translated(_http(403), REF)),
    "TW-M13": lambda _: _raise(hub_errors.translated(NETWORK, REF)),
    "TW-M14": lambda _: _raise(hub_errors.translated(_http(429), REF)),
    "TW-M14 own": lambda _: _raise(hub_errors.translated(_http(502), REF)),
    "TW-M15": lambda _: _raise(hub_errors.offline_error(REF, None)),
    "TW-M15 by a variable": lambda _: _raise(hub_errors.offline_error(REF, "HF_HUB_OFFLINE")),
    "TW-M16": lambda _: _raise(hub_errors.translated(_of_hub("EntryNotFoundError"), REF)),
    "TW-M17": lambda _: _raise(untrusted.unreadable(Path("nowhere"), NETWORK)),
    "TW-P01": lambda tmp: _raise(nvml_library.not_loaded(NO_LIBRARY, _with_gpu(tmp))),
    "TW-P02": lambda _: _raise(nvml_library.unusable(9, "")),
    "TW-P03": lambda _: _raise(nvml_library.unusable(18, "")),
    "TW-P04": lambda _: _raise(nvml_library.unusable(1, "refused")),
    "TW-P05": lambda _: shorthand.host("A6001"),
    "TW-P06": lambda _: hardware.find("./nowhere.json", Path()),
    "TW-P08": lambda tmp: hardware.save(machine("cpu"), tmp / "nowhere" / "nowhere"),
    "TW-P09": lambda _: ports.choose(65536, "nowhere", set()),
    "TW-P10": lambda _: shorthand.host("99xA6000"),
    "TW-P11": lambda _: _raise(nvml_library.failed("refused", crashed=False)),
    "TW-P12": lambda _: _raise(nvml_library.failed("refused", crashed=True)),
    "TW-P12 foreign": _foreign,
    "TW-P14": lambda tmp: _raise(nvml_library.not_loaded(NO_LIBRARY, tmp)),
    "TW-P15": lambda tmp: engine_python.inspect(str(_environment(tmp))),
    "TW-P15 silent": lambda _: engine_python.inspect("/bin/false"),
}
NO_LIBRARY = "libnvidia-ml.so.1: No such file"
SYSTEM = (
    "nowhere namespace value refused No such file or directory Is a directory Errno HubRef repo Permission denied "
    "/bin/false usr/lib64/libnvidia-ml.so.1"
)


def _with_gpu(root: Path) -> Path:
    device = root / "sys/bus/pci/devices/0000:01:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x10de\n")
    (device / "class").write_text("0x030200\n")
    return root


def _raise(error: WizardError) -> None:
    raise error


@pytest.mark.parametrize("name", ERRORS)
def test_an_error(name: str, tmp_path: Path) -> None:
    error = _raised(lambda: ERRORS[name](tmp_path))
    assert error.code == name.partition(" ")[0]
    paths = [
        str(tmp_path),
        str(profiles.find("examples/fleet.yaml")),
        *(recipe.name for recipe in recipes.recipes()),
        "org/name http field NO json toml gguf profiles xA",
    ]
    aliases = [alias for gpu in gpus.gpus().values() for alias in gpu.aliases]
    known = [*data(), *paths, *aliases, SYSTEM, "TRITON_WIZARD_PROFILES Give bits HF_HUB_OFFLINE --offline"]
    assert field_marks.untranslated([error.what, error.todo], known) == {}


def test_exit_codes_units_and_releases() -> None:
    times = [units.duration(seconds) for seconds in (None, 0.4, 12, 200, 7500)]
    amounts = [units.size(None), units.size(5 << 30), units.count(None), units.count(8_030_000_000)]
    shown = [*map(tr, EXIT_CODES.values()), *times, *amounts, releases.unknown("24.99"), releases.unknown("x")]
    assert field_marks.untranslated(shown, [UNITS]) == {}
