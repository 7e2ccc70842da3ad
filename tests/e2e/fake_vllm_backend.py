"""FakeVllmBackend: stands for Triton's vLLM backend in an image without vLLM; it has its tensors and no model.

As the real one it completes its configuration, wants to be decoupled, reads ``model.json`` and knows only some
arguments. One token is one word of the answer: the arguments that it was given, then the last word of the prompt.
"""

import json
from pathlib import Path

import numpy as np
import triton_python_backend_utils as pb_utils

INPUTS = (
    ("text_input", "TYPE_STRING", False),
    ("stream", "TYPE_BOOL", True),
    ("sampling_parameters", "TYPE_STRING", True),
    ("exclude_input_in_output", "TYPE_BOOL", True),
    ("return_finish_reason", "TYPE_BOOL", True),
    ("return_num_output_tokens", "TYPE_BOOL", True),
)
OUTPUTS = (("text_output", "TYPE_STRING"), ("finish_reason", "TYPE_STRING"), ("num_output_tokens", "TYPE_UINT32"))


def value_of(request, name, default):
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return default if tensor is None else tensor.as_numpy().reshape(-1)[0]


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        for name, kind, optional in INPUTS:
            config.add_input({"name": name, "data_type": kind, "dims": [1], "optional": optional})
        for name, kind in OUTPUTS:
            config.add_output({"name": name, "data_type": kind, "dims": [-1]})
        config.set_model_transaction_policy({"decoupled": True})
        config.set_max_batch_size(0)
        return config

    def initialize(self, args):
        assert json.loads(args["model_config"])["model_transaction_policy"]["decoupled"]
        given = json.loads(Path(args["model_repository"], args["model_version"], "model.json").read_text())
        assert Path(given["model"], "config.json").is_file(), given["model"]
        self.words = [f"{given['dtype']} ", f"{given['max_num_seqs']} "]

    def execute(self, requests):
        for request in requests:
            sender = request.get_response_sender()
            sampling = json.loads(value_of(request, "sampling_parameters", b"{}"))
            prompt = value_of(request, "text_input", b"").decode()
            pieces = [*self.words, prompt.split()[-1]][: sampling["max_tokens"]]
            if not value_of(request, "stream", False):
                pieces = ["".join(pieces)]
            for place, piece in enumerate(pieces, start=1):
                last = place == len(pieces)
                tensors = [
                    pb_utils.Tensor("text_output", np.array([piece.encode()], object)),
                    pb_utils.Tensor("finish_reason", np.array([b"stop" if last else b"None"], object)),
                    pb_utils.Tensor("num_output_tokens", np.array([1], np.uint32)),
                ]
                final = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL if last else 0
                sender.send(pb_utils.InferenceResponse(tensors), flags=final)
