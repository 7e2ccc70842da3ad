"""Stand-ins for the ensemble's preprocessing and postprocessing: one token is one byte. Tests only."""

import json

import numpy as np
import triton_python_backend_utils as pb_utils


def values(request, name):
    return pb_utils.get_input_tensor_by_name(request, name).as_numpy().reshape(-1)


class TritonPythonModel:
    def initialize(self, args):
        self.kind = json.loads(args["model_config"])["parameters"]["fake"]["string_value"]

    def execute(self, requests):
        return [self.before(each) if self.kind == "before" else self.after(each) for each in requests]

    def before(self, request):
        ids = np.frombuffer(values(request, "QUERY")[0], dtype=np.uint8).astype(np.int32).reshape(1, -1)
        length = np.array([[ids.size]], dtype=np.int32)
        return pb_utils.InferenceResponse(
            [pb_utils.Tensor("INPUT_ID", ids), pb_utils.Tensor("REQUEST_INPUT_LEN", length)]
        )

    def after(self, request):
        length = values(request, "SEQUENCE_LENGTH")[0]
        text = bytes(int(each) for each in values(request, "TOKENS_BATCH")[:length] if each < 256)
        text = text.decode(errors="replace").replace("<|im_start|>", "").replace("<|im_end|>", "")
        output = np.array([[text.encode()]], dtype=np.object_)
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", output)])
