"""Stand-in for every engine that is no part of the test environment, as a model of Triton's Python backend.

Tests only. It takes and gives the tensors of the real models (see ``wizard/chat/wire.py`` for their sources) and
computes nothing: one token is one byte, and the last byte of the prompt decides the answer, as in
``tests/chain_model.py``: after ``?`` it is ``yes`` and an end token, after ``!`` an error, after ``~`` and ``^`` the
reasons of vLLM for an answer that it gives up (``FINISH_REASON_STRINGS``, vllm/v1/engine/__init__.py of 0.26), else
the cycle without end.
The parameter ``fake`` says which engine it stands for.
"""

import json
import threading

import numpy as np
import triton_python_backend_utils as pb_utils

CYCLE = "Hi 😀é.".encode()
END = 258
GIVEN_UP = {259: "error", 260: "abort"}
STEP_S = 0.002


def value(request, name, default=None):
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return default if tensor is None else tensor.as_numpy().reshape(-1)[0]


def texts(request, name):
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return [] if tensor is None else [each.decode() for each in tensor.as_numpy().reshape(-1) if each]


def string(text, batched):
    return np.array([text.encode()], dtype=np.object_).reshape((1, 1) if batched else (1,))


class Refused(Exception):  # noqa: N818
    """The request is refused."""


class Ask:
    """What a request asks for, whatever its tensors are called."""

    def __init__(self, request, kind, parameters):
        self.kind = kind
        sampling = json.loads(value(request, "sampling_parameters", b"{}") or b"{}")
        if kind == "ids":
            ids = pb_utils.get_input_tensor_by_name(request, "input_ids").as_numpy().reshape(-1)
            if int(value(request, "input_lengths")) != len(ids):
                raise Refused("input_lengths is wrong")
            self.prompt = [int(each) for each in ids]
            self.end = value(request, "end_id")
        else:
            self.prompt = list(value(request, "text_input").decode().encode())
        names = ("request_output_len", "sampling_param_max_tokens", "max_tokens")
        tokens = [value(request, name) for name in names] + [sampling.get("max_tokens")]
        self.tokens = int(next(each for each in tokens if each is not None))
        self.stop = texts(request, "stop_words") + texts(request, "sampling_param_stop") + sampling.get("stop", [])
        self.stream = bool(value(request, "stream", value(request, "streaming", False)))
        by_default = parameters.get("exclude_input_in_output") == "true"
        self.exclude = bool(
            value(
                request,
                "exclude_input_in_output",
                value(request, "sampling_param_exclude_input_from_output", by_default),
            )
        )
        greedy = value(request, "runtime_top_k", value(request, "top_k", value(request, "sampling_param_top_k")))
        self.logprobs = bool(value(request, "return_logprobs", value(request, "return_log_probs", False)))
        self.alternatives = sampling.get("logprobs", 0)
        penalties = ("repetition_penalty", "presence_penalty", "frequency_penalty")
        self.settings = {
            **{name: value(request, name, value(request, f"sampling_param_{name}")) for name in penalties},
            "greedy": greedy is not None and int(greedy) == 1,
            "temperature": value(request, "temperature", value(request, "sampling_param_temperature")),
            "seed": value(request, "random_seed", value(request, "seed", value(request, "sampling_param_seed"))),
            **sampling,
        }

    def plan(self):
        """Tokens of the answer, one after the other."""
        last = self.prompt[-1]
        if last == ord("!"):
            raise Refused("Prompt length (2000) exceeds maximum input length (1000)")
        if last == ord("%"):
            raise Refused("the engine has had enough")
        if last == ord("="):  # what was asked for, as the engine saw it
            yield from json.dumps({name: str(each) for name, each in self.settings.items()}).encode()
            yield END
            return
        if last in b"~^":
            yield from (*b"yes", 259 if last == ord("~") else 260)
            return
        place = 0
        while place < self.tokens:
            if last == ord("?"):
                yield (*b"yes", END)[place]
                if place == 3:
                    return
            else:
                yield CYCLE[place % len(CYCLE)]
            place += 1


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        self.name = args["model_name"]
        self.ended = threading.Event()
        self.batched = config["max_batch_size"] > 0
        self.parameters = {name: each["string_value"] for name, each in config["parameters"].items()}
        self.kind = self.parameters["fake"]
        self.decoupled = pb_utils.using_decoupled_model_transaction_policy(config)
        self.outputs = {each["name"] for each in config["output"]}
        self.inputs = {each["name"] for each in config["input"]}

    def finalize(self):
        self.ended.set()

    def execute(self, requests):
        if not self.decoupled:
            return [self.once(request) for request in requests]
        for request in requests:
            arguments = (request, request.get_response_sender())
            threading.Thread(target=self.serve, args=arguments, daemon=True).start()
        return None

    def once(self, request):
        try:
            ask = Ask(request, self.kind, self.parameters)
            if ask.stream:
                raise Refused("Streaming is only supported in decoupled mode.")
            answer = list(ask.plan())
            return self.response(ask, answer, answer, last=True)
        except Refused as error:
            return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error)))

    def serve(self, request, sender):
        sent = 0
        try:
            ask = Ask(request, self.kind, self.parameters)
            if self.kind == "vllm" and ask.stream and not ask.exclude and "exclude_input_in_output" in self.inputs:
                raise Refused("exclude_input_in_output must be true for streaming")
            answer, new = [], []
            for token in ask.plan():
                if sender.is_cancelled():
                    pb_utils.Logger.log_info(f"FakeEngine {self.name} cancelled after {sent} tokens")
                    break
                if self.ended.wait(STEP_S):
                    break
                sent += 1
                answer.append(token)
                new.append(token)
                if ask.stream and (self.kind != "vllm" or whole(new)):
                    sender.send(self.response(ask, answer, new, last=False))
                    new = []
            else:
                sender.send(self.response(ask, answer, new if ask.stream else answer, last=True))
        except Refused as error:
            sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error))))
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)

    def response(self, ask, answer, new, last):
        cumulative = self.parameters.get("cumulative") == "true"
        tokens = answer if cumulative else new
        if ask.kind == "ids":
            if not ask.exclude and (cumulative or not ask.stream):
                tokens = ask.prompt + list(tokens)
            ids = np.array(tokens, dtype=np.int32).reshape(1, 1, -1)
            length = np.array([[len(tokens)]], dtype=np.int32)
            tensors = [pb_utils.Tensor("output_ids", ids), pb_utils.Tensor("sequence_length", length)]
            if "output_log_probs" in self.outputs:  # they are there in any case, of all tokens so far
                values = [-0.5 if ask.logprobs else 0.0] * len(answer)
                tensors.append(
                    pb_utils.Tensor("output_log_probs", np.array(values, dtype=np.float32).reshape(1, 1, -1))
                )
            return pb_utils.InferenceResponse(tensors)
        text = bytes(each for each in tokens if each < 256).decode(errors="replace")
        if not ask.exclude and not ask.stream:
            text = bytes(ask.prompt).decode().replace("<|im_start|>", "").replace("<|im_end|>", "") + text
        tensors = [pb_utils.Tensor("text_output", string(text, self.batched))]
        if "finish_reason" in self.outputs:
            reason = "None" if not last else "stop" if answer[-1:] == [END] else "length"
            reason = GIVEN_UP.get(answer[-1], reason) if last else reason
            tensors.append(pb_utils.Tensor("finish_reason", string(reason, self.batched)))
        if "num_output_tokens" in self.outputs:
            tensors.append(pb_utils.Tensor("num_output_tokens", np.array([len(new)], dtype=np.uint32)))
        if ask.logprobs:
            places = [
                {
                    str(token): {"logprob": -0.25, "rank": 1, "decoded_token": chr(token)},
                    **{
                        str(n): {"logprob": -1.0 - n, "rank": 2 + n, "decoded_token": "?"}
                        for n in range(ask.alternatives)
                    },
                }
                for token in new
            ]
            tensors.append(pb_utils.Tensor("logprobs", string(json.dumps(places), self.batched)))
        return pb_utils.InferenceResponse(tensors)


def whole(tokens):
    try:
        bytes(each for each in tokens if each < 256).decode()
    except UnicodeDecodeError:
        return False
    return True
