"""Golden cases of ops whose results are places, orders, counts or truths, and of ops that leave rows out."""
import torch

from golden_case import Group

COMPARISONS = {"less": torch.lt, "less_or_equal": torch.le, "greater": torch.gt, "greater_or_equal": torch.ge, "equal": torch.eq,
               "not_equal": torch.ne}


def halves(case, name, shape):
    """Multiples of 1/2, so that some are equal."""
    return case.put_float32(name, (case.draw(shape) * 2).round() / 2)


def result(case, **outputs):
    """Outputs without a derivative."""
    for name, y in outputs.items():
        case.put("out", name, y.double())


def comparisons(group):
    for label, f in COMPARISONS.items():
        case = group.case(f"{label}_tensors")
        result(case, y=f(halves(case, "a", (4, 1, 5)), halves(case, "b", (3, 5))))
        case = group.case(f"{label}_number")
        case.option("number", 0.5)
        result(case, y=f(halves(case, "a", (4, 5)), 0.5))


def places(group):
    for op in ("argmax", "argmin"):
        for axis in (0, -1):
            case = group.case(f"{op}_{axis}")
            case.option("axis", axis)
            result(case, y=getattr(torch, op)(case.constant("x", (4, 7)), axis))
        case = group.case(f"{op}_all")
        result(case, y=getattr(torch, op)(case.constant("x", (4, 7))))
    for label, axis, descending in (("up", 0, False), ("down", 1, True)):
        case = group.case(f"sort_{label}")
        case.option("axis", axis)
        case.option("descending", float(descending))
        values, places = torch.sort(halves(case, "x", (5, 6)), stable=True, dim=axis, descending=descending)
        result(case, values=values, places=places)
    for label, axis, largest in (("largest", 1, True), ("smallest", 0, False)):
        case = group.case(f"topk_{label}")
        case.option("axis", axis)
        case.option("largest", float(largest))
        values, places = torch.topk(case.constant("x", (5, 6)), 3, axis, largest)
        result(case, values=values, places=places)
    case = group.case("one_hot")
    result(case, y=torch.nn.functional.one_hot(case.random_ids("ids", 0, 5, (2, 4)), 5))
    for label, classes in (("short", 3), ("long", 9)):
        case = group.case(f"bincount_{label}")
        case.option("classes", classes)
        result(case, y=torch.bincount(case.random_ids("ids", 0, 6, (20,)), minlength=classes))


def rows(group):
    lens = (2, 0, 4)
    seen = torch.arange(4) < torch.tensor(lens)[:, None]
    case = group.case("pack_rows")
    case.ids("lens", lens)
    case.finish(y=case.tensor("x", (3, 4, 2))[seen])
    case = group.case("unpack_rows")
    case.ids("lens", lens)
    case.finish(y=torch.zeros(3, 4, 2).masked_scatter(seen[..., None], case.tensor("x", (6, 2))))
    case = group.case("keep_rows")
    keep = case.mask("keep", (3, 4))
    case.finish(y=torch.where(keep[..., None], case.tensor("x", (3, 4, 2)), 0.0))
    case = group.case("transpose")
    case.finish(y=case.tensor("x", (2, 3, 4)).transpose(0, -1))


def make():
    group = Group("selection")
    comparisons(group)
    places(group)
    rows(group)
    return group
