"""Golden cases of losses beyond cross-entropy with classes, of class weights, and of norms over several axes."""
import torch
import torch.nn.functional as F

from golden_case import Group

REDUCTIONS = ("mean", "sum", "none")
NONE = -100  # torch's way to ignore no class


def entropies(group):
    for reduction in REDUCTIONS:
        for smoothing, ignore in ((0.0, NONE), (0.2, NONE), (0.0, 0), (0.2, 0)):
            case = group.case(f"class_weights_{reduction}{'_smooth' if smoothing else ''}{'' if ignore == NONE else '_ignore'}")
            logits, weights = case.tensor("logits", (5, 7), 2), case.put_float32("weights", case.draw((7,)).abs() + 0.1)
            target = case.ids("targets", [2, 0, 6, 6, 1] if ignore == NONE else [2, 0, 6, 0, 1])
            case.option("smoothing", smoothing)
            case.option("ignore_id", ignore)
            case.finish(y=F.cross_entropy(logits, target, weights, reduction=reduction, label_smoothing=smoothing, ignore_index=ignore))
        for label, smoothing, weighted in (("", 0.0, False), ("_smooth", 0.2, False), ("_weights", 0.0, True), ("_smooth_weights", 0.2, True)):
            case = group.case(f"soft_targets_{reduction}{label}")
            logits = case.tensor("logits", (4, 6), 2)
            target = case.given("targets", torch.softmax(case.draw((4, 6)), -1).float().double())
            weights = case.put_float32("weights", case.draw((6,)).abs() + 0.1) if weighted else None
            case.option("smoothing", smoothing)
            case.finish(y=F.cross_entropy(logits, target, weights, reduction=reduction, label_smoothing=smoothing))
        for label, weighted, ignore in (("", False, NONE), ("_weights", True, NONE), ("_ignore", True, 0)):
            case = group.case(f"nll_{reduction}{label}")
            x = case.tensor("x", (5, 7), 2)
            weights = case.put_float32("weights", case.draw((7,)).abs() + 0.1) if weighted else None
            target = case.ids("targets", [2, 0, 6, 6, 1] if ignore == NONE else [2, 0, 6, 0, 1])
            case.option("ignore_id", ignore)
            case.finish(y=F.nll_loss(x, target, weights, reduction=reduction, ignore_index=ignore))


def pairs(group):
    for reduction in REDUCTIONS:
        for label, f in (("mse", F.mse_loss), ("l1", F.l1_loss), ("huber", F.huber_loss), ("smooth_l1", F.smooth_l1_loss)):
            case = group.case(f"{label}_{reduction}")
            case.finish(y=f(case.tensor("x", (3, 7), 2), case.tensor("target", (3, 7)), reduction=reduction))
        for weighted in (False, True):
            case = group.case(f"bce_{reduction}{'_weights' if weighted else ''}")
            x, target = case.tensor("x", (3, 7), 4), case.positive("target", (3, 7), 0.0, 1.0)
            weight = case.put_float32("pos_weight", case.draw((7,)).abs() + 0.1) if weighted else None
            case.finish(y=F.binary_cross_entropy_with_logits(x, target, pos_weight=weight, reduction=reduction))
        for log_target in (False, True):
            case = group.case(f"kl_{reduction}{'_log' if log_target else ''}")
            x = case.given("x", torch.log_softmax(case.draw((3, 7)), -1).float().double())
            target = torch.softmax(case.draw((3, 7)), -1)
            target = case.given("target", (target.log() if log_target else target).float().double())
            case.option("log_target", log_target)
            case.finish(y=F.kl_div(x, target, reduction=reduction, log_target=log_target))
    case = group.case("huber_delta")
    case.finish(y=F.huber_loss(case.tensor("x", (33,), 2), case.tensor("target", (33,)), delta=case.option("delta", 0.7)))
    case = group.case("smooth_l1_beta")
    case.finish(y=F.smooth_l1_loss(case.tensor("x", (33,), 2), case.tensor("target", (33,)), beta=case.option("beta", 0.7)))


def norms(group):
    for label, shape, axes, weight, bias, eps in (("two", (2, 3, 5), 2, True, True, 1e-5), ("all", (3, 4), 2, True, True, 1e-5),
                                                  ("three", (2, 3, 2, 5), 3, True, False, 1e-3), ("plain", (2, 3, 5), 2, False, False, 1e-5)):
        case = group.case(f"layer_norm_{label}")
        x = case.tensor("x", shape, 1.5, 0.5)
        w = case.tensor("weight", shape[-axes:], 0.3, 1.0) if weight else None
        b = case.tensor("bias", shape[-axes:]) if bias else None
        case.option("axes", axes)
        case.option("eps", eps)
        case.finish(y=F.layer_norm(x, shape[-axes:], w, b, eps))
    for label, shape, axes, weight, eps in (("affine", (3, 8), 1, True, 1e-5), ("plain", (2, 3, 17), 1, False, 1e-5), ("eps", (4, 33), 1, True, 0.1),
                                            ("one", (3, 1), 1, True, 1e-5), ("two", (2, 3, 5), 2, True, 1e-5), ("default", (3, 9), 1, True, None)):
        case = group.case(f"rms_norm_{label}")
        x = case.tensor("x", shape, 1.5, 0.5)
        w = case.tensor("weight", shape[-axes:], 0.3, 1.0) if weight else None
        case.option("axes", axes)
        case.option("eps", 2.0**-23 if eps is None else eps)
        case.finish(y=F.rms_norm(x, shape[-axes:], w, 2.0**-23 if eps is None else eps))


def make():
    group = Group("losses")
    for part in (entropies, pairs, norms):
        part(group)
    return group
