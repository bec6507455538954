"""Golden cases of optimizers: the weights after each of 20 updates, with given gradients, with missing ones, and down ill-conditioned slopes."""
import math

import torch

from golden_case import Group

STEPS = 20
PRESENT = [0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 1, 0, 1, 1, 0, 0, 1]  # steps at which the bias has a gradient


class Lion:
    """Chen et al., "Symbolic Discovery of Optimization Algorithms", 2023, algorithm 2, one number after the other."""

    def __init__(self, params, lr=1e-4, beta1=0.9, beta2=0.99, weight_decay=0.0):
        groups = params if isinstance(params[0], dict) else [dict(params=params)]
        self.groups = [dict(lr=lr, weight_decay=weight_decay) | group for group in groups]
        self.beta1, self.beta2, self.momentum = beta1, beta2, {}

    def step(self):
        for group in self.groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.update(p, group["lr"], group["weight_decay"])

    def update(self, p, lr, weight_decay):
        m = self.momentum.setdefault(p, [0.0] * p.numel())
        with torch.no_grad():
            flat, g = p.view(-1), p.grad.view(-1).tolist()
            for i, w in enumerate(flat.tolist()):
                c = self.beta1 * m[i] + (1 - self.beta1) * g[i]
                sign = 0.0 if c == 0 else math.copysign(1.0, c)
                flat[i] = w - lr * (sign + weight_decay * w)
                m[i] = self.beta2 * m[i] + (1 - self.beta2) * g[i]


def given(case, start, end):
    """Gradients drawn once, whose size goes from `start` to `end`."""
    size = torch.logspace(math.log10(start), math.log10(end), STEPS)[:, None]
    dw = case.put_float32("dweight", case.draw((STEPS, 3)) * size)
    db = case.put_float32("dbias", case.draw((STEPS, 1)) * size)
    return lambda t, w, b: (dw[t], db[t])


def slopes(case):
    """The gradients of ½ Σ curvature·weight² with curvatures from 1e-4 to 1e4, and of Rosenbrock's valley in the bias."""
    curvature = case.put_float32("curvature", torch.logspace(-4, 4, 5))

    def gradients(t, w, b):
        x, y = b[0], b[1]
        return curvature * w, torch.stack([-2 * (1 - x) - 400 * x * (y - x * x), 200 * (y - x * x)])

    return gradients


def run(group, name, optimizer, gradients="given", options=None, **translated):
    """`options` are ours, stored; torch's are the same, with what is `translated` besides or in their place."""
    case = group.case(name)
    options = options or {}
    for option, value in options.items():
        case.option(option, float(value))
    steep = gradients == "slopes"
    w, b = case.draw((5 if steep else 3,)), torch.tensor([-1.25, 1.0]) if steep else case.draw((1,))
    case.put("in", "weight", w)
    case.put("in", "bias", b)
    w, b = w.requires_grad_(), b.requires_grad_()
    if "groups" in name:  # half the rate and no decay for the bias
        params = [dict(params=[w]), dict(params=[b], lr=options["lr"] / 2, weight_decay=0.0)]
    else:
        params = [w, b]
    arguments = {k: v for k, v in options.items() if not (k.startswith("beta") and "betas" in translated)} | translated
    optimizer = optimizer(params, **arguments)
    shrinking = "amsgrad" in name  # otherwise the largest second moment is the newest
    at = slopes(case) if steep else given(case, *((10.0, 1e-3) if shrinking else (1e-2, 10.0)))
    present = case.ids("present", PRESENT).tolist() if gradients == "missing" else [1] * STEPS
    trail = {"weight": [], "bias": []}
    for t in range(STEPS):
        dw, db = at(t, w.detach(), b.detach())
        w.grad, b.grad = dw.clone(), db.clone() if present[t] else None
        optimizer.step()
        trail["weight"].append(w.detach().clone())
        trail["bias"].append(b.detach().clone())
    for key, values in trail.items():
        case.put("out", key, torch.stack(values))


def sgd(group):
    torch_sgd = torch.optim.SGD
    run(group, "sgd_plain", torch_sgd, options=dict(lr=0.1))
    run(group, "sgd_decay", torch_sgd, options=dict(lr=0.1, weight_decay=0.3))
    run(group, "sgd_momentum", torch_sgd, options=dict(lr=0.05, momentum=0.9))
    run(group, "sgd_dampened", torch_sgd, options=dict(lr=0.1, momentum=0.8, dampening=0.5, weight_decay=0.1))
    run(group, "sgd_nesterov", torch_sgd, options=dict(lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.1))
    run(group, "sgd_groups", torch_sgd, options=dict(lr=0.1, momentum=0.9, weight_decay=0.3))
    run(group, "sgd_missing", torch_sgd, "missing", dict(lr=0.1, momentum=0.9, dampening=0.5, weight_decay=0.1))
    run(group, "sgd_slopes", torch_sgd, "slopes", dict(lr=1e-5, momentum=0.9, nesterov=True))


def adam(group):
    for name, optimizer, decay in (("adam", torch.optim.Adam, 0.0), ("adamw", torch.optim.AdamW, 1e-2)):
        def case(label, gradients="given", **changed):
            options = dict(lr=1e-2, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=decay) | changed
            run(group, f"{name}_{label}", optimizer, gradients, options, betas=(options["beta1"], options["beta2"]))

        case("plain")
        case("decay", weight_decay=0.3, beta1=0.8, beta2=0.95, eps=1e-3)
        case("amsgrad", amsgrad=True, beta2=0.9, weight_decay=0.1)
        case("missing", "missing", weight_decay=0.1, amsgrad=True)
        case("groups", weight_decay=0.3)
        case("slopes", "slopes", lr=0.02)


def rmsprop(group):
    def case(label, gradients="given", **changed):
        run(group, f"rmsprop_{label}", torch.optim.RMSprop, gradients, dict(lr=1e-2, alpha=0.99, eps=1e-8) | changed)

    case("plain")
    case("decay", weight_decay=0.3, alpha=0.9, eps=1e-2)
    case("centered", centered=True)
    case("momentum", momentum=0.9)
    case("centered_momentum", centered=True, momentum=0.9, weight_decay=0.1)
    case("missing", "missing", centered=True, momentum=0.5, weight_decay=0.1)
    case("groups", weight_decay=0.3)
    case("slopes", "slopes", momentum=0.9)


def adagrad(group):
    def case(label, gradients="given", **changed):
        run(group, f"adagrad_{label}", torch.optim.Adagrad, gradients, dict(lr=0.1, eps=1e-10) | changed)

    case("plain")
    case("decay", lr_decay=0.1, weight_decay=0.3)
    case("accumulated", initial_accumulator_value=0.5, eps=1e-3)
    case("missing", "missing", lr_decay=0.2, weight_decay=0.1)
    case("groups", weight_decay=0.3)
    case("slopes", "slopes")


def lion(group):
    def case(label, gradients="given", **changed):
        run(group, f"lion_{label}", Lion, gradients, dict(lr=1e-2, beta1=0.9, beta2=0.99) | changed)

    case("plain")
    case("decay", beta1=0.8, beta2=0.95, weight_decay=0.3)
    case("missing", "missing", weight_decay=0.1)
    case("groups", weight_decay=0.3)
    case("slopes", "slopes")


def make():
    group = Group("optimizers")
    for family in (sgd, adam, rmsprop, adagrad, lion):
        family(group)
    return group
