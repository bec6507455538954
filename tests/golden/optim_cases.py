"""Golden cases of optimizers, clipping and schedules."""
import math

import torch

from golden_case import Group

STEPS = 20


def adamw(group):
    """Two parameters, 20 updates with given gradients; the weights after every update are stored."""
    configurations = {
        "default": dict(lr=1e-2),
        "no_decay": dict(lr=1e-2, weight_decay=0.0),
        "betas": dict(lr=3e-2, betas=(0.8, 0.95), weight_decay=0.1),
        "eps": dict(lr=1e-2, eps=1e-2, weight_decay=0.3),
    }
    for label, options in configurations.items():
        case = group.case(f"adamw_{label}")
        run(case, lambda w, b: torch.optim.AdamW([w, b], **options))
    case = group.case("adamw_groups")
    run(case, lambda w, b: torch.optim.AdamW([dict(params=[w], weight_decay=0.1), dict(params=[b], weight_decay=0.0, lr=5e-3)], lr=1e-2))
    case = group.case("adamw_clipped_schedule")
    run(case, lambda w, b: torch.optim.AdamW([w, b], lr=1e-2, weight_decay=0.1), clip=1.0, rate=lambda t: cosine(t, 1e-2, 1e-3, 5, STEPS))


def run(case, make_optimizer, clip=None, rate=None):
    w, b = case.draw((3, 5)).requires_grad_(), case.draw((5,)).requires_grad_()
    case.put("in", "weight", w)
    case.put("in", "bias", b)
    scale = torch.logspace(-3, 1, STEPS)  # small gradients first, large ones later
    dw = case.draw((STEPS, 3, 5)) * scale[:, None, None]
    db = case.draw((STEPS, 5)) * scale[:, None]
    dw, db = dw.float().double(), db.float().double()
    case.put("in", "dweight", dw)
    case.put("in", "dbias", db)
    optimizer = make_optimizer(w, b)
    trail = {"weight": [], "bias": [], "norm": []}
    for t in range(STEPS):
        w.grad, b.grad = dw[t].clone(), db[t].clone()
        if rate:
            for parameters in optimizer.param_groups:
                parameters["lr"] = rate(t)
        if clip:
            trail["norm"].append(torch.nn.utils.clip_grad_norm_([w, b], clip))
        optimizer.step()
        trail["weight"].append(w.detach().clone())
        trail["bias"].append(b.detach().clone())
    for name, values in trail.items():
        if values:
            case.put("out", name, torch.stack(values))


def cosine(t, peak, floor, warm_up, total):
    """The rate of update t = 0, 1, …: linear to the peak in warm_up updates, half a cosine to the floor at total, held after."""
    if t < warm_up:
        return peak * (t + 1) / warm_up
    if t >= total:
        return floor
    return floor + 0.5 * (peak - floor) * (1 + math.cos(math.pi * (t - warm_up) / (total - warm_up)))


def schedules(group):
    for label, peak, floor, warm_up, total in (("warm_up", 1e-3, 1e-4, 10, 50), ("no_warm_up", 1e-2, 0.0, 0, 30)):
        rates = [cosine(t, peak, floor, warm_up, total) for t in range(total + 10)]
        group.case(f"cosine_{label}").put("out", "lr", torch.tensor(rates))


def clipping(group):
    for label, scale, limit in (("over", 3.0, 1.0), ("under", 0.01, 1.0), ("half", 1.0, 0.5)):
        case = group.case(f"clip_{label}")
        parameters = []
        for name, shape in (("a", (3, 4)), ("b", (5,)), ("c", (2, 2, 2))):
            p = torch.zeros(shape, requires_grad=True)
            p.grad = case.draw(shape, scale)
            case.put("in", f"d{name}", p.grad)
            parameters.append(p)
        case.put("out", "norm", torch.nn.utils.clip_grad_norm_(parameters, limit))
        for name, p in zip("abc", parameters):
            case.put("out", f"d{name}", p.grad)


def make():
    group = Group("optim")
    adamw(group)
    schedules(group)
    clipping(group)
    return group
