"""The real llama-server of the package xllamacpp, run in the environment of the stack: FOLDER/MODEL.gguf PORT."""

import sys
import threading

import xllamacpp  # type: ignore[import-not-found]

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.n_ctx = 512
parameters.hostnames = ["127.0.0.1"]
parameters.port = int(sys.argv[2])
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
threading.Event().wait()
