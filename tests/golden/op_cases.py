"""Golden cases of single ops."""
import math

import torch
import torch.nn.functional as F

from golden_case import Group


def arithmetic(group):
    shapes = {"same": ((3, 5), (3, 5)), "row": ((2, 3, 4), (4,)), "outer": ((3, 1), (1, 4)), "middle": ((2, 1, 3), (4, 1)),
              "scalar": ((2, 3), ())}
    for op in ("add", "sub", "mul", "div"):
        for label, (a, b) in shapes.items():
            case = group.case(f"{op}_{label}")
            x = case.tensor("a", a)
            y = case.positive("b", b, 0.5, 2.0) if op == "div" else case.tensor("b", b)
            case.finish(y=getattr(torch, op)(x, y))
    case = group.case("neg")
    case.finish(y=-case.tensor("x", (2, 9)))


def elementwise(group):
    for op in ("exp", "tanh"):
        for label, shape in (("row", (33,)), ("box", (2, 3, 5))):
            case = group.case(f"{op}_{label}")
            case.finish(y=getattr(torch, op)(case.tensor("x", shape, 1.5)))
    for op in ("log", "sqrt"):
        for label, shape in (("row", (33,)), ("box", (2, 3, 5))):
            case = group.case(f"{op}_{label}")
            case.finish(y=getattr(torch, op)(case.positive("x", shape, 0.1, 5.0)))
    ramp = torch.arange(-36, 37) * 0.25  # -9 … 9: tails, and 0 itself
    for label, f in (("relu", F.relu), ("gelu_erf", F.gelu), ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"))):
        case = group.case(f"{label}_ramp")
        case.finish(y=f(case.given("x", ramp.clone())))
        case = group.case(f"{label}_box")
        case.finish(y=f(case.tensor("x", (2, 3, 7), 2.0)))


def reductions(group):
    for op in ("sum", "mean"):
        for label, axes, keep in (("all", None, False), ("first", (0,), False), ("last_kept", (-1,), True), ("outer", (0, 2), False),
                                  ("inner_kept", (1, 2), True)):
            case = group.case(f"{op}_{label}")
            x = case.tensor("x", (3, 4, 9))
            if axes is None:
                case.finish(y=getattr(torch, op)(x))
                continue
            case.ids("axes", axes)
            case.option("keep", keep)
            case.finish(y=getattr(torch, op)(x, dim=axes, keepdim=keep))


def products(group):
    configurations = {"2d": ((5, 7), (7, 3)), "batched": ((2, 3, 4), (2, 4, 5)), "broadcast_right": ((2, 3, 4), (4, 5)),
                      "broadcast_both": ((2, 1, 3, 4), (3, 4, 2)), "broadcast_left": ((3, 4), (2, 4, 5)), "wide": ((9, 33), (33, 17)),
                      "one": ((1, 1), (1, 1))}
    for label, (a, b) in configurations.items():
        case = group.case(f"matmul_{label}")
        case.finish(y=case.tensor("a", a) @ case.tensor("b", b))
    for label, flip_a, flip_b in (("nt", False, True), ("tn", True, False), ("tt", True, True)):
        for kind, batch in (("", ()), ("_batched", (2,))):
            case = group.case(f"matmul_{label}{kind}")
            a = case.tensor("a", batch + ((4, 3) if flip_a else (3, 4)))
            b = case.tensor("b", batch + ((5, 4) if flip_b else (4, 5)))
            case.option("transpose_a", flip_a)
            case.option("transpose_b", flip_b)
            case.finish(y=(a.mT if flip_a else a) @ (b.mT if flip_b else b))
    for label, shape, bias in (("rows", (5, 7), True), ("no_bias", (5, 7), False), ("batch", (2, 3, 8), True),
                               ("batch_no_bias", (2, 3, 8), False)):
        case = group.case(f"linear_{label}")
        x, w = case.tensor("x", shape), case.tensor("weight", (6, shape[-1]))
        case.finish(y=F.linear(x, w, case.tensor("bias", (6,)) if bias else None))


def movement(group):
    case = group.case("reshape")
    case.finish(y=case.tensor("x", (2, 3, 4)).reshape(6, 4))
    for label, shape, order in (("swap", (3, 5), (1, 0)), ("heads", (2, 3, 4, 5), (0, 2, 1, 3)), ("turn", (2, 3, 4), (2, 0, 1))):
        case = group.case(f"permute_{label}")
        case.ids("axes", order)
        case.finish(y=case.tensor("x", shape).permute(order))
    for label, axis, start, stop in (("first", 0, 1, 3), ("middle", 1, 0, 2), ("last", 2, 2, 5)):
        case = group.case(f"slice_{label}")
        case.ids("range", (axis, start, stop))
        case.finish(y=case.tensor("x", (4, 3, 5)).narrow(axis, start, stop - start))
    for label, axis, shapes in (("first", 0, ((2, 3), (1, 3), (4, 3))), ("last", 2, ((2, 3, 1), (2, 3, 4), (2, 3, 2)))):
        case = group.case(f"concat_{label}")
        parts = [case.tensor(f"x{i}", shape) for i, shape in enumerate(shapes)]
        case.option("axis", axis)
        case.finish(y=torch.cat(parts, axis))
    for label, ids, padding in (("plain", [[0, 3, 6], [1, 2, 5]], None), ("repeated", [[4, 4, 1], [4, 0, 1]], None),
                                ("padding", [[2, 5, 0], [5, 0, 0]], 0), ("padding_3", [[3, 5, 3], [6, 3, 5]], 3)):
        case = group.case(f"embedding_{label}")
        case.option("padding_id", -1 if padding is None else padding)
        case.finish(y=F.embedding(case.ids("ids", ids), case.tensor("weight", (7, 5)), padding_idx=padding))


def softmaxes(group):
    for op in ("softmax", "log_softmax"):
        f = getattr(torch, op)
        for label, shape, axis, scale in (("last", (3, 17), -1, 1), ("middle", (2, 5, 3), 1, 1), ("first", (4, 3), 0, 1), ("one", (3, 1), -1, 1),
                                          ("large", (3, 9), -1, 300), ("batch", (2, 3, 33), -1, 3)):
            case = group.case(f"{op}_{label}")
            case.option("axis", axis)
            case.finish(y=f(case.tensor("x", shape, scale), axis))
    case = group.case("masked_softmax_lens")
    lens = case.ids("lens", [1, 4, 7])
    hidden = torch.arange(7) >= lens[:, None, None]
    case.finish(y=case.tensor("x", (3, 2, 7)).masked_fill(hidden, -math.inf).softmax(-1))
    case = group.case("masked_softmax_query_lens")
    lens = case.ids("lens", [[1, 9], [5, 3]])
    hidden = torch.arange(9) >= lens[:, :, None]
    case.finish(y=case.tensor("x", (2, 2, 9)).masked_fill(hidden, -math.inf).softmax(-1))
    case = group.case("masked_softmax_allow")
    allow = case.mask("allow", (5, 8))
    case.finish(y=case.tensor("x", (2, 5, 8), 2).masked_fill(~allow, -math.inf).softmax(-1))
    case = group.case("masked_softmax_causal")
    case.finish(y=case.tensor("x", (2, 4, 6)).masked_fill(torch.ones(4, 6).triu(3).bool(), -math.inf).softmax(-1))


def norms(group):
    for label, shape, weight, bias, eps, shift in (("affine", (3, 8), True, True, 1e-5, 0), ("no_bias", (2, 3, 9), True, False, 1e-5, 0),
                                                   ("plain", (4, 17), False, False, 1e-5, 0), ("eps", (3, 33), True, True, 0.1, 0),
                                                   ("shifted", (3, 65), True, True, 1e-5, 20), ("one", (3, 1), True, True, 1e-5, 0)):
        case = group.case(f"layer_norm_{label}")
        x = case.tensor("x", shape, 1.5, shift)
        w = case.tensor("weight", shape[-1:], 0.3, 1.0) if weight else None
        b = case.tensor("bias", shape[-1:]) if bias else None
        case.option("eps", eps)
        case.finish(y=F.layer_norm(x, shape[-1:], w, b, eps))


def smooth_without(logits, target, smoothing, left_out):
    """Cross-entropy per row with smoothing mass only on classes that are neither the target nor left out."""
    log_p = logits.log_softmax(-1)
    share = torch.ones_like(log_p)
    share[:, left_out] = 0
    share.scatter_(1, target[:, None], 0.0)
    share = smoothing * share / share.sum(-1, keepdim=True)
    share.scatter_(1, target[:, None], 1 - smoothing)
    return -(share * log_p).sum(-1)


NONE = -100  # torch's way to ignore no class


def losses(group):
    for reduction in ("mean", "sum", "none"):
        for smoothing in (0.0, 0.1):
            for ignore in (NONE, 0):
                case = group.case(f"cross_entropy_{reduction}{'_smooth' if smoothing else ''}{'' if ignore == NONE else '_ignore'}")
                logits = case.tensor("logits", (5, 7), 2)
                target = case.ids("targets", [2, 0, 6, 6, 1] if ignore == NONE else [2, 0, 6, 0, 1])
                options = dict(label_smoothing=case.option("smoothing", smoothing), ignore_index=case.option("ignore_id", ignore))
                case.finish(y=F.cross_entropy(logits, target, reduction=reduction, **options))
    case = group.case("cross_entropy_mean_sequence")
    logits, target = case.tensor("logits", (2, 3, 33), 2), case.random_ids("targets", 0, 33, (2, 3))
    case.finish(y=F.cross_entropy(logits.flatten(0, 1), target.flatten()))
    for label, ids, left_out, ignore in (("pad", [2, 1, 4, 3], [0], NONE), ("two", [2, 3, 4, 3], [0, 1], NONE), ("ignore", [2, 0, 4, 0], [0], 0)):
        case = group.case(f"cross_entropy_mean_left_out_{label}")
        logits, target = case.tensor("logits", (4, 5), 2), case.ids("targets", ids)
        case.ids("left_out", left_out)
        counts = target != case.option("ignore_id", ignore)
        case.finish(y=(smooth_without(logits, target, case.option("smoothing", 0.1), left_out) * counts).sum() / counts.sum())
    for label, smoothing, ignore in (("plain", 0.0, NONE), ("smooth", 0.1, NONE), ("smooth_ignore", 0.1, 0)):
        case = group.case(f"linear_cross_entropy_{label}")
        h, w = case.tensor("h", (6, 8)), case.tensor("weight", (11, 8), 0.7)
        target = case.ids("targets", [3, 0, 10, 7, 0, 3])
        options = dict(label_smoothing=case.option("smoothing", smoothing), ignore_index=case.option("ignore_id", ignore))
        case.finish(y=F.cross_entropy(h @ w.T, target, **options))


def make():
    group = Group("ops")
    for part in (arithmetic, elementwise, reductions, products, movement, softmaxes, norms, losses):
        part(group)
    return group
