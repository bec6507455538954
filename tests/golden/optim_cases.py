"""Golden cases of optimizers, clipping and schedules."""
import torch
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR

from golden_case import Group

STEPS = 20


def adamw(group):
    """Two parameters, 20 updates with given gradients; the weights after every update are stored."""
    for label, options in (("default", {}), ("no_decay", dict(weight_decay=0.0)), ("betas", dict(beta1=0.8, beta2=0.95, weight_decay=0.1)),
                           ("eps", dict(eps=1e-2, weight_decay=0.3)), ("groups", dict(weight_decay=0.1)),
                           ("clipped", dict(weight_decay=0.1))):
        case = group.case(f"adamw_{label}")
        o = dict(lr=1e-2, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=1e-2) | options
        for name, value in o.items():
            case.option(name, value)
        w, b = case.draw((3, 5)).requires_grad_(), case.draw((5,)).requires_grad_()
        case.put("in", "weight", w)
        case.put("in", "bias", b)
        groups = [dict(params=[w], lr=o["lr"]), dict(params=[b], lr=o["lr"])]
        if label == "groups":  # half the rate and no decay for the bias
            groups[1] |= dict(lr=o["lr"] / 2, weight_decay=0.0)
        optimizer = torch.optim.AdamW(groups, betas=(o["beta1"], o["beta2"]), eps=o["eps"], weight_decay=o["weight_decay"])
        train(case, optimizer, w, b, limit=case.option("limit", 1.0) if label == "clipped" else None)


def train(case, optimizer, w, b, limit):
    growing = torch.logspace(-3, 1, STEPS)  # under the limit at first, over it at the end
    dw = case.put_float32("dweight", case.draw((STEPS, 3, 5)) * growing[:, None, None])
    db = case.put_float32("dbias", case.draw((STEPS, 5)) * growing[:, None])
    trail = {"weight": [], "bias": [], "norm": []}
    for t in range(STEPS):
        w.grad, b.grad = dw[t].clone(), db[t].clone()
        if limit:
            trail["norm"].append(torch.nn.utils.clip_grad_norm_([w, b], limit))
        optimizer.step()
        trail["weight"].append(w.detach().clone())
        trail["bias"].append(b.detach().clone())
    for name, values in trail.items():
        if values:
            case.put("out", name, torch.stack(values))


def schedules(group):
    """The rates of updates 0 … total."""
    for label, peak, floor, warmup, total in (("warmup", 1e-3, 1e-4, 10, 50), ("long_warmup", 3e-4, 0.0, 40, 60), ("no_warmup", 1e-2, 1e-3, 0, 30)):
        case = group.case(f"cosine_{label}")
        for name, value in (("lr", peak), ("min_lr", floor), ("warmup", warmup), ("total", total)):
            case.option(name, value)
        optimizer = torch.optim.SGD([torch.zeros(1)], lr=peak)
        schedule = CosineAnnealingLR(optimizer, total - warmup, floor)
        if warmup:
            optimizer = torch.optim.SGD([torch.zeros(1)], lr=peak)
            rise = LinearLR(optimizer, 1 / (warmup + 1), 1.0, warmup)
            schedule = SequentialLR(optimizer, [rise, CosineAnnealingLR(optimizer, total - warmup, floor)], [warmup])
        rates = []
        for _ in range(total + 1):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
        case.put("out", "lr", torch.tensor(rates))


def clipping(group):
    for label, scale, limit in (("over", 3.0, 1.0), ("under", 0.01, 1.0), ("half", 1.0, 0.5)):
        case = group.case(f"clip_{label}")
        case.option("limit", limit)
        parameters = {}
        for name, shape in (("a", (3, 4)), ("b", (5,)), ("c", (2, 2, 2))):
            parameters[name] = torch.zeros(shape, requires_grad=True)
            parameters[name].grad = case.put_float32(f"d{name}", case.draw(shape, scale)).clone()
        case.put("out", "norm", torch.nn.utils.clip_grad_norm_(list(parameters.values()), limit))
        for name, p in parameters.items():
            case.put("out", f"d{name}", p.grad)


def make():
    group = Group("optim")
    adamw(group)
    schedules(group)
    clipping(group)
    return group
