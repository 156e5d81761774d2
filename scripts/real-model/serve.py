"""Serves a model in OpenAI's and Anthropic's wire formats until it is told to stop: MODEL PORT NAME [TEMPLATE]."""

import signal
import sys

import xllamacpp

model, port, name, *template = sys.argv[1:]
parameters = xllamacpp.CommonParams()
parameters.model.path = model
parameters.hostname = "127.0.0.1"
parameters.port = int(port)
parameters.model_alias = {name}
# Divided by the number of requests that are served at a time.
parameters.n_ctx = 8192
parameters.n_parallel = 2
parameters.cpuparams.n_threads = 2
parameters.use_jinja = True
# The most likely answer, unless a request says otherwise.
parameters.sampling.temp = 0.0
# Without one it is the model's own.
if template:
    with open(template[0], encoding="utf-8") as file:
        parameters.chat_template = file.read()
server = xllamacpp.Server(parameters)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
