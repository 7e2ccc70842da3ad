"""A Python-backend model that sends ``max_tokens`` tokens as fast as Triton takes them; `stream_overhead` serves it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    """What Triton calls."""

    def execute(self, requests: list[Any]) -> None:
        for request in requests:
            count = int(pb_utils.get_input_tensor_by_name(request, "max_tokens").as_numpy()[0])
            threading.Thread(target=self._count, args=(request.get_response_sender(), count), daemon=True).start()

    def _count(self, sender: Any, count: int) -> None:
        for number in range(1, count + 1):
            finish = b"length" if number == count else b""
            response = pb_utils.InferenceResponse(
                [
                    pb_utils.Tensor("text_output", np.array([b" word"], dtype=np.object_)),
                    pb_utils.Tensor("finish_reason", np.array([finish], dtype=np.object_)),
                    pb_utils.Tensor("completion_tokens", np.array([number], dtype=np.int32)),
                ]
            )
            sender.send(response, flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL if finish else 0)
