"""The GPU profiles that we ship, and how names find them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from wizard.catalog import profiles
from wizard.catalog.gpus import Bandwidth, GpuProfile, Link, Memory, Tensor, gpus, match, plain_name
from wizard.kernel.errors import UsageError
from wizard.kernel.units import MIB

SHIPPED = gpus()
GROUPS: dict[str, Any] = {"memory": Memory, "bandwidth": Bandwidth, "tensor": Tensor, "link": Link}


def test_no_gpu_was_lost() -> None:
    assert len(SHIPPED) >= 30


@pytest.mark.parametrize("name", SHIPPED)
def test_a_file_has_only_known_keys_and_a_source_for_each_group(name: str) -> None:
    data = profiles.load_toml(profiles.files("gpus")[name])
    assert set(data) <= {field.name for field in dataclasses.fields(GpuProfile)}
    for group, kind in GROUPS.items():
        assert set(data[group]) <= {field.name for field in dataclasses.fields(kind)}
        assert data[group]["source"].strip()


@pytest.mark.parametrize("name", SHIPPED)
def test_facts_are_plausible_and_fit_one_another(name: str) -> None:
    gpu = SHIPPED[name]
    assert 6_000 * MIB < gpu.memory.bytes < 300_000 * MIB
    assert 200e9 <= gpu.bandwidth.bytes_per_second <= 8000e9
    assert 25 <= gpu.tensor.fp16 <= 2500
    for format_ in ("fp8", "fp4", "int8"):
        rate = getattr(gpu.tensor, format_)
        assert rate is None or (format_ in gpu.tensor.formats and rate > 1.9 * gpu.tensor.fp16)
    assert ("fp8" in gpu.tensor.formats) == (gpu.compute_capability >= (8, 9))
    assert ("bf16" in gpu.tensor.formats) == (gpu.compute_capability >= (8, 0))
    assert ("fp4" in gpu.tensor.formats) == (gpu.compute_capability >= (10, 0))
    assert (gpu.link.nvlinks > 0) == (gpu.link.kind == "nvlink")
    assert (gpu.link.bytes_per_second is not None) == gpu.link.kind.startswith("nvlink")
    assert (gpu.memory.kind == "lpddr") == gpu.memory.shared_with_host
    assert (gpu.memory.kind == "hbm") == (gpu.compute_capability in ((7, 0), (8, 0), (9, 0), (10, 0), (10, 3)))


def test_rates_are_not_those_with_sparsity() -> None:
    """4 bits are at most eight times as fast as 16 (GeForce with fp32 accumulation); with sparsity it would be 16."""
    for name, gpu in SHIPPED.items():
        rates = (gpu.tensor.fp8, gpu.tensor.fp4, gpu.tensor.int8)
        assert all(rate is None or rate <= 8.1 * gpu.tensor.fp16 for rate in rates), name


def test_the_h200_is_as_measured() -> None:
    """h200: total memory, and bus width times clock, as NVML said on a real one; datasheet within 0.5 %."""
    gpu = SHIPPED["h200"]
    assert gpu.memory.bytes == 143_771 * MIB
    assert gpu.bandwidth.bytes_per_second == pytest.approx(6016 / 8 * 3201e6 * 2, rel=0.005)


def test_no_two_profiles_answer_to_one_name() -> None:
    profiles_of: dict[str, list[str]] = {"cpu": []}
    for profile, gpu in SHIPPED.items():
        for name in {*map(plain_name, (*gpu.names, *gpu.aliases))}:
            profiles_of.setdefault(name, []).append(profile)
    assert not profiles_of.pop("cpu")
    assert {name: owners for name, owners in profiles_of.items() if len(owners) > 1} == {}


@pytest.mark.parametrize(
    ("name", "profile"),
    [
        ("NVIDIA H200", "h200"),
        ("nvidia h200", "h200"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "a100-sxm4-40gb"),
        ("NVIDIA Tesla T4", "t4"),
        ("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000"),
        ("Orin (nvgpu)", "jetson-agx-orin"),
    ],
)
def test_nvmls_names_find_their_profiles(name: str, profile: str) -> None:
    assert match(name) == SHIPPED[profile]


@pytest.mark.parametrize("name", ["", "NVIDIA", "NVIDIA A40-48Q", "NVIDIA H200 NVL", "h100", "Some GPU"])
def test_other_names_find_none(name: str) -> None:
    assert match(name) is None


def test_a_users_own_profile_is_read_and_a_bad_one_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(profiles.PROFILES_VARIABLE, str(tmp_path))
    (tmp_path / "gpus").mkdir()
    own = profiles.files("gpus")["h200"].read_text().replace("NVIDIA H200", "NVIDIA H999")
    (tmp_path / "gpus/h999.toml").write_text(own.replace('"h200', '"h999'))
    profile = match("NVIDIA H999")
    assert profile is not None
    assert profile.aliases[0] == "h999"
    for file, wrong, field in (
        ("h999.toml", "fp16 = 'fast'", "tensor.fp16"),
        ("h998.toml", "fp16 = 989\nfb8 = 1979", "tensor.fb8: unknown field"),
        ("h997.toml", 'fp16 = 989\nformats = ["fb8"]', "tensor.formats.0"),
    ):
        text = "\n".join(line for line in own.splitlines() if not (line.startswith("formats") and "formats" in wrong))
        bad = tmp_path / file / "gpus" / file
        bad.parent.mkdir(parents=True)
        bad.write_text(text.replace("fp16 = 989", wrong))
        monkeypatch.setenv(profiles.PROFILES_VARIABLE, str(tmp_path / file))
        with pytest.raises(UsageError) as caught:
            gpus()
        assert caught.value.code == "TW-K01"
        assert file in caught.value.what
        assert field in caught.value.what
