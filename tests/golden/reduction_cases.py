"""Golden cases of reductions and running sums."""
import math

import torch

from golden_case import Group

AXES = (("all", (0, 1, 2), False), ("first", (0,), False), ("last_kept", (-1,), True), ("outer", (0, 2), False), ("inner_kept", (1, 2), True))


def reduced(group, name, f, draw=lambda case: case.tensor("x", (2, 3, 5)), **options):
    """f(x, axes, keep) over several choices of axes."""
    for label, axes, keep in AXES:
        case = group.case(f"{name}_{label}")
        x = draw(case)
        case.ids("axes", axes)
        case.option("keep", keep)
        for option, value in options.items():
            case.option(option, value)
        case.finish(y=f(x, axes, keep))


def with_ties(case):
    return case.given("x", torch.round(case.draw((2, 3, 5)) * 2) / 2)


def with_zeros(case):
    x = case.draw((2, 3, 5), 0.3, 1.0)
    x[0, 1, 2] = x[1, 2, 3] = x[1, 0, 3] = 0
    return case.given("x", x)


def prod(x, axes, keep):
    for axis in sorted((a % x.dim() for a in axes), reverse=True):
        x = torch.prod(x, axis, keepdim=keep)
    return x


def make():
    group = Group("reductions")
    for correction in (1, 0):
        for name, f in (("var", torch.var), ("stddev", torch.std)):
            reduced(group, f"{name}_{correction}", lambda x, a, k, f=f: f(x, a, correction=correction, keepdim=k), correction=correction)
    case = group.case("stddev_1_far")
    case.ids("axes", (1,))
    case.option("correction", 1)
    case.finish(y=torch.std(case.tensor("x", (2, 17), 1.0, 300.0), 1))
    for p, draw in ((2, lambda case: case.tensor("x", (2, 3, 5))), (1, lambda case: case.tensor("x", (2, 3, 5))), (math.inf, with_ties)):
        for label, axes, keep in AXES:
            case = group.case(f"norm_{p}_{label}")
            x = draw(case)
            case.ids("axes", axes)
            case.option("keep", keep)
            case.option("p", 0 if p == math.inf else p)  # files of cases hold no infinity
            case.finish(y=torch.linalg.vector_norm(x, p, axes, keepdim=keep))
    reduced(group, "max", lambda x, a, k: torch.amax(x, a, keepdim=k), with_ties)
    reduced(group, "min", lambda x, a, k: torch.amin(x, a, keepdim=k), with_ties)
    reduced(group, "prod", prod, lambda case: case.tensor("x", (2, 3, 5), 0.3, 1.0))
    reduced(group, "prod_zeros", prod, with_zeros)
    reduced(group, "logsumexp", lambda x, a, k: torch.logsumexp(x, a, keepdim=k))
    reduced(group, "logsumexp_large", lambda x, a, k: torch.logsumexp(x, a, keepdim=k), lambda case: case.tensor("x", (2, 3, 5), 100.0))
    for label, axis, reverse in (("first", 0, False), ("middle", 1, True), ("last", -1, False), ("last_reverse", 2, True)):
        case = group.case(f"cumsum_{label}")
        x = case.tensor("x", (2, 3, 5))
        case.option("axis", axis)
        case.option("reverse", reverse)
        case.finish(y=x.flip(axis).cumsum(axis).flip(axis) if reverse else x.cumsum(axis))
    return group
