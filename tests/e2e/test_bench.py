"""A benchmark of the demo by the real AIPerf: installed, run, and read back. Opt-in: it installs for minutes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.conftest import Wizard

OPT_IN = "TRITON_WIZARD_TEST_AIPERF"
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("journey"),
    pytest.mark.timeout(900),
    pytest.mark.skipif(not os.environ.get(OPT_IN), reason=f"{OPT_IN} is not set: it downloads 228 MiB"),
]


def test_the_demo_is_measured_by_the_real_aiperf(wizard: Wizard, tmp_path: Path) -> None:
    wizard.up()
    folder = tmp_path / "report"
    printed = bench(wizard, "demo", "--quick", "--yes", "--out", str(folder))
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert report["partial"] == ""
    assert [point["point"]["concurrency"] for point in report["points"]] == [1, 4]
    for point in report["points"]:
        assert point["errors"] == {}
        assert point["tokens_per_s"]["value"] > 0
        assert point["ttft_ms"]["p50"]["value"] > 0
        assert point["input_tokens"]
    assert report["versions"]["aiperf"]
    assert "1 at once" in printed
    assert (folder / "report.html").is_file()
    assert wizard.strays() == []


def bench(wizard: Wizard, *arguments: str) -> str:
    """The table; skips where AIPerf cannot be installed."""
    done = subprocess.run(wizard.argv("bench", *arguments), capture_output=True, text=True, timeout=600, check=False)
    for code in ("TW-C61", "TW-C62"):
        if code in done.stderr:
            pytest.skip(done.stderr.strip().splitlines()[-2][:300])
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
