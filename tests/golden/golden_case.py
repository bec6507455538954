"""Collects the tensors of golden cases and writes them, one safetensors file per group of cases.

Key of a tensor: <case>/in/<name>, <case>/param/<torch parameter name>, <case>/out/<name>, <case>/dout, <case>/grad/<name>.
Reals are float64, but every input is a float32 value, so that a float32 run starts from exactly the same numbers.
"""
import os
import zlib

import torch
from safetensors.torch import save_file, load_file

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)


def as_float32_values(x):
    return x.float().double()


class Group:
    """The cases of one file."""

    def __init__(self, name):
        self.name = name
        self.tensors = {}

    def case(self, name):
        return Case(self, name)

    def put(self, key, value):
        if key in self.tensors:
            raise ValueError(f"{self.name}: {key} is written twice")
        value = value.detach().clone().contiguous()
        if value.is_floating_point():
            value = value.double()
            if not torch.isfinite(value).all():
                raise ValueError(f"{self.name}: {key} is not finite")
        self.tensors[key] = value

    def save(self, folder):
        path = os.path.join(folder, self.name + ".safetensors")
        old = load_file(path) if os.path.exists(path) else {}
        change = 0.0
        for key in old.keys() & self.tensors.keys():
            a, b = old[key].double(), self.tensors[key].double()
            if a.shape != b.shape:
                change = float("inf")
            elif a.numel():
                change = max(change, ((a - b).abs().max() / b.abs().max().clamp_min(1e-300)).item())
        version = torch.__version__.split("+")[0]
        save_file(self.tensors, path, {"source": f"torch {version}, tests/golden/make_goldens.py"})  # one key: several have no fixed order
        os.chmod(path, 0o644)
        cases = {key.split("/")[0] for key in self.tensors}
        print(f"{self.name}: {len(cases)} cases, {len(self.tensors)} tensors, {os.path.getsize(path)} bytes; "
              f"new keys {len(self.tensors.keys() - old.keys())}, gone {len(old.keys() - self.tensors.keys())}, "
              f"largest relative change {change:.1e}")


class Case:
    """One case: inputs are drawn from a generator seeded by the case's name, so adding a case changes no other."""

    def __init__(self, group, name):
        self.group, self.name = group, name
        self.random = torch.Generator().manual_seed(zlib.crc32(f"{group.name}/{name}".encode()))
        self.inputs, self.module = {}, None

    def put(self, kind, name, value):
        self.group.put(f"{self.name}/{kind}/{name}", value)

    def draw(self, shape, scale=1.0, shift=0.0):
        return as_float32_values(torch.randn(shape, generator=self.random) * scale + shift)

    def tensor(self, name, shape, scale=1.0, shift=0.0):
        """A normal input whose gradient is stored."""
        return self.given(name, self.draw(shape, scale, shift))

    def positive(self, name, shape, low, high):
        return self.given(name, as_float32_values(torch.rand(shape, generator=self.random) * (high - low) + low))

    def given(self, name, value):
        value = value.requires_grad_()
        self.inputs[name] = value
        self.put("in", name, value)
        return value

    def constant(self, name, shape, scale=1.0):
        """A real input without a gradient."""
        value = self.draw(shape, scale)
        self.put("in", name, value)
        return value

    def ids(self, name, values):
        value = torch.as_tensor(values, dtype=torch.int64)
        self.put("in", name, value)
        return value

    def put_float32(self, name, value):
        """A computed input, rounded to what float32 holds."""
        value = as_float32_values(value)
        self.put("in", name, value)
        return value

    def option(self, name, value):
        """A number that is an argument of the case: kept in its file, so that the test reads it there."""
        self.put("in", name, torch.tensor(value, dtype=torch.float64))
        return value

    def random_ids(self, name, low, high, shape):
        return self.ids(name, torch.randint(low, high, shape, generator=self.random))

    def mask(self, name, shape, share=0.6):
        """Bools, true = may attend, stored as 0 and 1; no row is false throughout."""
        value = torch.rand(shape, generator=self.random) < share
        value[..., 0] |= ~value.any(-1)
        self.put("in", name, value.long())
        return value

    def own(self, module, scale=0.4):
        """Gives every parameter of a module numbers of this case (norm weights near 1) and stores them by torch's names."""
        self.module = module.double().train()
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                norm_weight = "norm" in name and name.endswith("weight")
                parameter.copy_(self.draw(parameter.shape, scale, 1.0 if norm_weight else 0.0))
                self.put("param", name, parameter)
        return self.module

    def finish(self, extra=None, keep=None, **outputs):
        """Stores the outputs and the gradients that follow from a drawn upstream gradient of the first one (1 for a scalar).

        keep: bools [B, T] of the rows that count; the others get no upstream gradient and are stored as 0.
        """
        (name, y), *rest = outputs.items()
        if keep is not None:
            y = torch.where(keep[..., None], y, torch.zeros_like(y))
        dout = torch.ones_like(y) if y.dim() == 0 else self.draw(y.shape)
        if keep is not None:
            dout = dout * keep[..., None]
        self.put("out", name, y)
        for other, value in rest:
            self.put("out", other, value)
        if y.dim():
            self.group.put(f"{self.name}/dout", dout)
        y.backward(dout)
        leaves = dict(self.inputs)
        if self.module is not None:
            leaves |= dict(self.module.named_parameters())
        for leaf, x in leaves.items():
            self.put("grad", leaf, torch.zeros_like(x) if x.grad is None else x.grad)
