"""A small GPT's training run in PyTorch: losses of every update, and the loss on held-out text at the end.

The stored run (`make`) begins from weights and text that both sides compute from one sequence of whole numbers, so that the file holds nothing
but losses. `parity.py` runs the whole configuration.
"""
import math
from dataclasses import dataclass

import numpy
import torch
import torch.nn.functional as F

from golden_case import Group, as_float32_values
from model_cases import CausalLM


@dataclass
class Recipe:
    vocabulary: int
    layers: int
    heads: int
    width: int
    context: int
    batch: int
    updates: int
    warmup: int
    lr: float = 1e-3
    min_lr: float = 1e-4
    beta1: float = 0.9
    beta2: float = 0.99
    decay: float = 0.1
    clip: float = 1.0

    def model(self):
        return CausalLM(self.vocabulary, self.context, self.width, self.heads, self.layers, 4 * self.width, bias=False)

    def rate(self, step):
        if step < self.warmup:
            return self.lr * (step + 1) / (self.warmup + 1)
        share = min(1.0, (step - self.warmup) / (self.updates - self.warmup))
        return self.min_lr + (self.lr - self.min_lr) * (1 + math.cos(math.pi * share)) / 2

    def deviation(self, name):
        """Of the first numbers of a matrix; those that write into the residual stream are smaller."""
        return 0.02 / math.sqrt(2 * self.layers) if name.endswith(("out_proj.weight", "linear2.weight")) else 0.02


def loss_of(model, windows, reduction="mean"):
    """windows [B, T + 1]: each id is followed by its target."""
    return F.cross_entropy(model(windows[:, :-1]).flatten(0, 1), windows[:, 1:].flatten(), reduction=reduction)


def train(recipe, model, windows, progress=None):
    """The loss before each update on windows [updates, B, T + 1]; the rates are those of a run of `recipe.updates`."""
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": recipe.decay}, {"params": vectors, "weight_decay": 0.0}],
                                  lr=recipe.lr, betas=(recipe.beta1, recipe.beta2))
    losses = []
    for step, batch in enumerate(windows):
        for group in optimizer.param_groups:
            group["lr"] = recipe.rate(step)
        loss = loss_of(model, batch)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip)
        optimizer.step()
        losses.append(loss.item())
        if progress:
            progress(step + 1, losses[-1])
    return losses


def validation(model, windows, at_once=64):
    """Mean loss over windows [N, T + 1]."""
    with torch.enable_grad():  # torch's layers take another path without
        total = sum(loss_of(model, windows[i:i + at_once], "sum").item() for i in range(0, len(windows), at_once))
    return total / windows[:, 1:].numel()


# ---- the stored run --------------------------------------------------------------------------------------------------------------

STORED = Recipe(vocabulary=17, layers=2, heads=4, width=32, context=16, batch=8, updates=100, warmup=10)
TEXT = 4000


def draws(seed, count):
    """SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", 2014): number i is a function of seed and i."""
    z = numpy.uint64(seed) + numpy.arange(1, count + 1, dtype=numpy.uint64) * numpy.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    return z ^ (z >> numpy.uint64(31))


def nearly_normal(seed, shape):
    """Sums of 12 numbers from [0, 1) less 6; 24 bits each, so that every sum is exact."""
    bits = draws(seed, 12 * math.prod(shape)) >> numpy.uint64(40)
    return torch.from_numpy((bits.astype(numpy.float64) / 2**24).reshape(*shape, 12).sum(-1) - 6)


def below(seed, count, n):
    return [int(z % n) for z in draws(seed, count)]


def first_weights(model, recipe):
    with torch.no_grad():
        for seed, (name, parameter) in enumerate(sorted(model.named_parameters())):
            if parameter.dim() == 2:
                parameter.copy_(as_float32_values(nearly_normal(1000 + seed, parameter.shape) * recipe.deviation(name)))


def text(vocabulary):
    """Three ids in four follow from the one before; the fourth is any."""
    chance, other = below(1, TEXT, 4), below(2, TEXT, vocabulary)
    ids = [0]
    for i in range(1, TEXT):
        ids.append(other[i] if chance[i] == 0 else (5 * ids[-1] + 3) % vocabulary)
    return torch.tensor(ids)


def stored_windows(recipe):
    """Those of every update [updates, B, T + 1], and the held-out ones [N, T + 1]."""
    ids, t = text(recipe.vocabulary), recipe.context
    learned = TEXT - TEXT // 10
    starts = below(3, recipe.updates * recipe.batch, learned - t)
    windows = torch.stack([ids[s:s + t + 1] for s in starts]).reshape(recipe.updates, recipe.batch, t + 1)
    valid = torch.stack([ids[s:s + t + 1] for s in range(learned, TEXT - t, t)])
    return windows, valid


def make():
    group = Group("parity")
    windows, valid = stored_windows(STORED)
    for dtype in (torch.float64, torch.float32):
        model = STORED.model().to(dtype)
        first_weights(model, STORED)
        name = str(dtype).removeprefix("torch.")
        group.put(f"{name}/out/losses", torch.tensor(train(STORED, model, windows)))
        group.put(f"{name}/out/validation", torch.tensor(validation(model, valid)))
    return group
