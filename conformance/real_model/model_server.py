"""Serves a model over HTTP on a free port until standard input ends: model_server.py MODEL CONTEXT [TEMPLATE]

Run by the environment that install.py makes. A template replaces the one in the file of the model.
"""

import pathlib
import sys

import xllamacpp

# Two threads wait for each other at every step: on two cores of which one is busy they are ten times slower than one.
THREADS = 1

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = int(sys.argv[2])
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_parallel = 1
params.use_jinja = True
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = THREADS
if len(sys.argv) > 3:
    params.chat_template = pathlib.Path(sys.argv[3]).read_text()
server = xllamacpp.Server(params)
print(f"listening on {server.listening_address}", flush=True)
sys.stdin.read()
