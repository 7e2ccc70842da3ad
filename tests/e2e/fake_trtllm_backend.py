"""FakeTrtllmBackend: stands for TensorRT-LLM's C++ backend in an image without it; no GPU, no arithmetic.

As the real one it reads the engine that ``gpt_model_path`` names, streams where it is decoupled and asked to, and ends
a request that its client gave up. It says the prompt's tokens again and again, without the end token.
"""

import json
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils


def given(request, name, default=None):
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return default if tensor is None else tensor.as_numpy().reshape(-1).tolist()


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.outputs = [output["name"] for output in config["output"]]
        engine = Path(config["parameters"]["gpt_model_path"]["string_value"])
        assert (engine / "config.json").is_file(), f"no engine in {engine}"
        assert pb_utils.using_decoupled_model_transaction_policy(config)

    def response(self, ids):
        n = len(ids)
        made = {
            "output_ids": np.array([[ids]], dtype=np.int32),
            "sequence_length": np.array([[n]], dtype=np.int32),
            "cum_log_probs": np.zeros((1, 1), dtype=np.float32),
            "output_log_probs": np.zeros((1, 1, n), dtype=np.float32),
            "context_logits": np.zeros((1, 1, 1), dtype=np.float32),
            "generation_logits": np.zeros((1, 1, 1, 1), dtype=np.float32),
            "batch_index": np.zeros((1, 1), dtype=np.int32),
        }
        return pb_utils.InferenceResponse([pb_utils.Tensor(k, v) for k, v in made.items() if k in self.outputs])

    def execute(self, requests):
        for request in requests:
            self.answer(request, request.get_response_sender())

    def answer(self, request, sender):
        end = given(request, "end_id", [-1])[0]
        prompt = [token for token in given(request, "input_ids") if token != end]
        length = given(request, "request_output_len")[0]
        ids = (prompt * (length // len(prompt) + 1))[:length]
        for piece in [[token] for token in ids] if given(request, "streaming", [False])[0] else [ids]:
            if sender.is_cancelled():
                pb_utils.Logger.log_warn("FakeTrtllmBackend: the client gave the request up")
                break
            sender.send(self.response(piece))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
