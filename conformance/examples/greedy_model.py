"""Serves a model over HTTP on a free port until standard input ends, always with the likeliest word: greedy_model.py MODEL TEMPLATE

Programs that set no temperature then get the same answer in every run. Run by the environment that real_model/install.py makes.
"""

import pathlib
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.n_ctx = 8192
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_parallel = 1
params.use_jinja = True
params.sampling.temp = 0
# Two threads wait for each other at every step: on two cores of which one is busy they are ten times slower than one.
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.chat_template = pathlib.Path(sys.argv[2]).read_text()
server = xllamacpp.Server(params)
print(f"listening on {server.listening_address}", flush=True)
sys.stdin.read()
