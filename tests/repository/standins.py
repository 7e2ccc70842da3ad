"""Stand-ins for the Python models of TensorRT-LLM's backend and for its engine: no tokenizer, no GPU, no arithmetic.

They check what a release's own models ask of a configuration (that the tensors are declared) and echo the prompt's
bytes as tokens, one at a time.
"""

from __future__ import annotations

from pathlib import Path

HEAD = """\
import json
import numpy as np
import triton_python_backend_utils as pb_utils


def given(request, name, default=None):
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return default if tensor is None else tensor.as_numpy()
"""

FAKE_PREPROCESSING = (
    HEAD
    + '''

class TritonPythonModel:
    """FakePreprocessing: a token is a byte of the text."""

    def initialize(self, args):
        self.config = json.loads(args["model_config"])
        self.outputs = {one["name"]: one for one in self.config["output"]}

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        ids = np.array([list(given(request, "QUERY").reshape(-1)[0])], dtype=np.int32)
        length = given(request, "REQUEST_OUTPUT_LEN").reshape(1, -1)
        words = np.zeros((1, 2, 0), dtype=np.int32)
        made = {
            "INPUT_ID": ids,
            "REQUEST_INPUT_LEN": np.array([[ids.shape[1]]], dtype=np.int32),
            "REQUEST_OUTPUT_LEN": length,
            "BAD_WORDS_IDS": words,
            "STOP_WORDS_IDS": words,
            "EMBEDDING_BIAS": np.zeros((1, 0), dtype=np.float32),
            "OUT_END_ID": np.array([[0]], dtype=np.int32),
            "OUT_PAD_ID": np.array([[0]], dtype=np.int32),
            "DECODER_INPUT_ID": np.array([[0]], dtype=np.int32),
            "REQUEST_DECODER_INPUT_LEN": np.array([[1]], dtype=np.int32),
        }
        return pb_utils.InferenceResponse([pb_utils.Tensor(k, v) for k, v in made.items() if k in self.outputs])
'''
)

FAKE_TRTLLM = (
    HEAD
    + '''

class TritonPythonModel:
    """FakeTrtllm: the prompt again, a token a response where it is asked to stream."""

    def initialize(self, args):
        self.config = json.loads(args["model_config"])
        self.outputs = [one["name"] for one in self.config["output"]]
        self.decoupled = pb_utils.using_decoupled_model_transaction_policy(self.config)

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
        answers = []
        for request in requests:
            ids = given(request, "input_ids").reshape(-1).tolist()
            ids = ids[: int(given(request, "request_output_len").reshape(-1)[0])]
            stream = bool(given(request, "streaming", np.array([False])).reshape(-1)[0])
            if not self.decoupled:
                answers.append(self.response(ids))
                continue
            sender = request.get_response_sender()
            for piece in [[one] for one in ids] if stream else [ids]:
                sender.send(self.response(piece))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return answers if not self.decoupled else None
'''
)

FAKE_POSTPROCESSING = (
    HEAD
    + '''

class TritonPythonModel:
    """FakePostprocessing: bytes to text."""

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        text = bytes(given(request, "TOKENS_BATCH").reshape(-1).tolist())
        return pb_utils.InferenceResponse([pb_utils.Tensor("OUTPUT", np.array([[text]], dtype=np.object_))])
'''
)

FAKE_BLS = (
    HEAD
    + '''

class TritonPythonModel:
    """FakeBls: calls the three models itself, and asks tensorrt_llm for all of its outputs as the real one does."""

    def initialize(self, args):
        self.config = json.loads(args["model_config"])
        self.decoupled = pb_utils.using_decoupled_model_transaction_policy(self.config)
        self.results = [one["name"] for one in self.config["output"] if one["name"] != "text_output"]

    def call(self, model, inputs, outputs, decoupled=False):
        request = pb_utils.InferenceRequest(model_name=model, inputs=inputs, requested_output_names=outputs)
        answers = request.exec(decoupled=decoupled)
        for answer in answers if decoupled else [answers]:
            if answer.has_error():
                raise pb_utils.TritonModelException(answer.error().message())
            yield {tensor.name(): tensor.as_numpy() for tensor in answer.output_tensors()}

    def pieces(self, request):
        asked = {"QUERY": given(request, "text_input"), "REQUEST_OUTPUT_LEN": given(request, "max_tokens")}
        names = ["INPUT_ID", "REQUEST_INPUT_LEN", "REQUEST_OUTPUT_LEN"]
        (before,) = self.call("preprocessing", [pb_utils.Tensor(k, v) for k, v in asked.items()], names)
        inputs = dict(zip(("input_ids", "input_lengths", "request_output_len"), (before[name] for name in names)))
        if given(request, "stream") is not None:
            inputs["streaming"] = given(request, "stream")
        tensors = [pb_utils.Tensor(k, v) for k, v in inputs.items()]
        wanted = ["output_ids", "sequence_length", *self.results]
        for made in self.call("tensorrt_llm", tensors, wanted, self.decoupled):
            if not made:
                continue
            tokens = [pb_utils.Tensor("TOKENS_BATCH", made["output_ids"])]
            tokens.append(pb_utils.Tensor("SEQUENCE_LENGTH", made["sequence_length"]))
            (after,) = self.call("postprocessing", tokens, ["OUTPUT"])
            yield pb_utils.InferenceResponse([pb_utils.Tensor("text_output", after["OUTPUT"])])

    def execute(self, requests):
        if not self.decoupled:
            return [next(self.pieces(request)) for request in requests]
        for request in requests:
            sender = request.get_response_sender()
            for piece in self.pieces(request):
                sender.send(piece)
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        return None
'''
)

MODELS = {
    "preprocessing": FAKE_PREPROCESSING,
    "tensorrt_llm": FAKE_TRTLLM,
    "postprocessing": FAKE_POSTPROCESSING,
    "tensorrt_llm_bls": FAKE_BLS,
}


def put(root: Path, copied: tuple[str, ...]) -> None:
    """Put a stand-in into each of the folders that the wizard would have copied."""
    for folder in copied:
        path = root / folder / "model.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(MODELS[folder.split("/")[0]], encoding="utf-8")
