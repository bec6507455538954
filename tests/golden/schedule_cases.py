"""Golden cases of schedules: the rates of updates 0 … 99."""
import math
import warnings

import torch
from torch.optim import lr_scheduler as torch_schedules

from golden_case import Group

RATES = 100


def rates_of(make, peak):
    """`make(optimizer)` is torch's scheduler of an optimizer with the rate `peak`."""
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=peak)
    scheduler = make(optimizer)
    rates = []
    for _ in range(RATES):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def curve(group, name, make, lr=1e-3, torch_lr=None, **options):
    """`options` are ours; torch's optimizer is built with the rate `torch_lr`, which is ours if it is not given."""
    case = group.case(name)
    for option, value in (dict(lr=lr) | options).items():
        if isinstance(value, list):
            case.ids(option, value)
        else:
            case.option(option, float(value))
    rates = make(case) if make.__name__ == "of_case" else rates_of(make, torch_lr or lr)
    case.put("out", "lr", torch.tensor(rates))


def curves(group):
    s = torch_schedules
    curve(group, "constant_plain", lambda o: s.ConstantLR(o, 1.0, 0))
    curve(group, "constant_factor", lambda o: s.ConstantLR(o, 0.25, 30), factor=0.25, total=30)
    curve(group, "linear_down", lambda o: s.LinearLR(o, 1.0, 0.125, 80), end_lr=1.25e-4, total=80)
    curve(group, "linear_up", lambda o: s.LinearLR(o, 0.25, 1.0, 60), torch_lr=4e-3, end_lr=4e-3, total=60)
    curve(group, "linear_warmup", lambda o: s.SequentialLR(o, [s.LinearLR(o, 1 / 21, 1.0, 20), s.LinearLR(o, 1.0, 0.0, 70)], [20]),
          end_lr=0, warmup=20, total=90)
    curve(group, "cosine_plain", lambda o: s.CosineAnnealingLR(o, RATES, 1e-5), min_lr=1e-5, total=RATES)
    curve(group, "restarts_equal", lambda o: s.CosineAnnealingWarmRestarts(o, 30, 1, 1e-4), min_lr=1e-4, first=30)
    curve(group, "restarts_growing", lambda o: s.CosineAnnealingWarmRestarts(o, 7, 2), first=7, growth=2)
    curve(group, "step_every", lambda o: s.StepLR(o, 15, 0.5), gamma=0.5, every=15)
    curve(group, "step_milestones", lambda o: s.MultiStepLR(o, [0, 10, 11, 11, 60], 0.3), gamma=0.3, milestones=[0, 10, 11, 11, 60])
    curve(group, "exponential_plain", lambda o: s.ExponentialLR(o, 0.93), gamma=0.93)
    curve(group, "function", lambda o: s.LambdaLR(o, lambda step: 1 / (1 + 0.5 * step)))
    curve(group, "sequential",
          lambda o: s.SequentialLR(o, [s.ConstantLR(o, 0.5, 10), s.LinearLR(o, 1.0, 0.25, 20), s.ExponentialLR(o, 0.9)], [15, 50]))
    curve(group, "chained", lambda o: s.ChainedScheduler([s.ExponentialLR(o, 0.95), s.ConstantLR(o, 0.1, 20), s.StepLR(o, 25, 0.5)]))


def one_cycle(group):
    for label, rise, linear, three in (("cosine", 0.3, False, False), ("line", 0.25, True, False), ("three_phases", 0.4, False, True),
                                       ("three_lines", 0.333, True, True)):
        curve(group, f"one_cycle_{label}", lambda o: torch_schedules.OneCycleLR(
            o, 1e-2, total_steps=RATES + 1, pct_start=rise, anneal_strategy="linear" if linear else "cos", div_factor=20, final_div_factor=100,
            three_phase=three), max_lr=1e-2, total=RATES + 1, rise=rise, div_factor=20, final_div_factor=100, linear=linear, three_phase=three)


def noam(group):
    """Vaswani et al., "Attention Is All You Need", 2017, section 5.3, equation 3; updates count from 1."""
    def of_case(case):
        return [2.0 * 64 ** -0.5 * min(n ** -0.5, n * 40 ** -1.5) for n in range(1, RATES + 1)]

    curve(group, "noam", of_case, factor=2, num_hiddens=64, warmup=40)


def plateau(group):
    """A falling value with noise, and what becomes of the rate after each of its 100 measurements."""
    for label, sign, options in (("relative", 1, dict(factor=0.5, patience=3, threshold=0.05)),
                                 ("amount", 1, dict(factor=0.3, patience=2, threshold=0.02, relative=False, cooldown=4)),
                                 ("highest", -1, dict(factor=0.6, patience=1, threshold=0.01, maximize=True, min_lr=1e-4)),
                                 ("eps", 1, dict(factor=0.5, patience=0, threshold=0.1, eps=1e-4))):
        def of_case(case):
            values = case.put_float32("value", 3 + sign * (2 * torch.exp(-torch.arange(RATES) / 25) + 0.1 * case.draw((RATES,))))
            optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.01)
            kinds = dict(mode="max" if options.get("maximize") else "min", threshold_mode="rel" if options.get("relative", True) else "abs")
            rest = {k: v for k, v in options.items() if k not in ("maximize", "relative")}
            scheduler = torch_schedules.ReduceLROnPlateau(optimizer, **kinds, **rest)
            rates = []
            for value in values.tolist():
                scheduler.step(value)
                rates.append(optimizer.param_groups[0]["lr"])
            return rates

        curve(group, f"plateau_{label}", of_case, lr=0.01, **options)


def make():
    warnings.filterwarnings("ignore", category=UserWarning, module="torch.optim.lr_scheduler")
    group = Group("schedules")
    for family in (curves, one_cycle, noam, plateau):
        family(group)
    return group
