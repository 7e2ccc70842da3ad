"""The port `serve`."""

from __future__ import annotations

from wizard.advise.calibration import Measured
from wizard.serve.measured import BYTES, StackLog, single


def read(log):
    return Measured(weights_bytes=single(log.all(rf"tiny weights: {BYTES}")))


PORT = StackLog(read)
