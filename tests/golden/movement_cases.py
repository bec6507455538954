"""Golden cases of ops that move, pick and add up numbers, and of einsum."""
import torch
import torch.nn.functional as F

from golden_case import Group


def rearranging(group):
    case = group.case("squeeze")
    case.finish(y=case.tensor("x", (2, 1, 3)).squeeze(1))
    case = group.case("unsqueeze")
    case.finish(y=case.tensor("x", (2, 3)).unsqueeze(-2))
    case = group.case("split")
    a, _, c = torch.split(case.tensor("x", (2, 5)), 2, 1)
    case.finish(y=torch.cat([c, a, a], 1))
    for axis in (0, 2, -2):
        case = group.case(f"stack_{axis}")
        case.option("axis", axis)
        case.finish(y=torch.stack([case.tensor("a", (2, 3)), case.tensor("b", (2, 3))], axis))
    case = group.case("broadcast_to")
    case.ids("shape", (2, 4, 3))
    case.finish(y=case.tensor("x", (4, 1)).broadcast_to(2, 4, 3))
    for label, shape, counts in (("row", (3,), (2,)), ("table", (2, 3), (3, 2)), ("leading", (2, 3), (2, 1, 2)), ("none", (2, 3), (0, 2))):
        case = group.case(f"repeat_{label}")
        case.ids("counts", counts)
        case.finish(y=case.tensor("x", shape).repeat(*counts))
    for axis in (0, 1, 2):
        case = group.case(f"interleave_{axis}")
        case.option("axis", axis)
        case.finish(y=case.tensor("x", (2, 3, 2)).repeat_interleave(3, axis))
    for axis, before, after, value in ((0, 1, 0, 0.0), (1, 2, 3, 0.5), (-1, 0, 2, -1.0)):
        case = group.case(f"pad_{axis}")
        case.option("axis", axis)
        case.ids("sizes", (before, after))
        case.option("value", value)
        x = case.tensor("x", (2, 3, 2))
        case.finish(y=F.pad(x, [0, 0] * (2 - axis % 3) + [before, after], value=value))
    for label, axes in (("first", (0,)), ("last", (-1,)), ("two", (0, 2)), ("all", (0, 1, 2))):
        case = group.case(f"flip_{label}")
        case.ids("axes", axes)
        case.finish(y=case.tensor("x", (2, 3, 4)).flip(axes))
    for label, axis, begin, end, step in (("two", 1, 1, 7, 2), ("three", 0, 0, 5, 3)):
        case = group.case(f"steps_{label}")
        case.ids("range", (axis, begin, end, step))
        x = case.tensor("x", (5, 7))
        case.finish(y=x[begin:end:step] if axis == 0 else x[:, begin:end:step])
    case = group.case("steps_back")
    case.ids("range", (1, 1, 7, -2))
    case.finish(y=case.tensor("x", (2, 7))[:, [6, 4, 2]])
    for op in ("tril", "triu"):
        for diagonal in (0, 1, -2):
            case = group.case(f"{op}_{diagonal}")
            case.option("diagonal", diagonal)
            case.finish(y=getattr(torch, op)(case.tensor("x", (2, 4, 5)), diagonal))


def picking(group):
    for label, axis, shape, ids_shape in (("rows", 0, (4, 3), (6, 3)), ("last", -1, (2, 5), (2, 3)), ("middle", 1, (2, 4, 3), (2, 5, 3)),
                                          ("part", 1, (3, 4, 3), (2, 5, 2))):
        case = group.case(f"gather_{label}")
        case.option("axis", axis)
        ids = case.random_ids("ids", 0, shape[axis], ids_shape)
        case.finish(y=torch.gather(case.tensor("x", shape), axis, ids))
    for label, axis, shape, ids_shape in (("ids", 1, (3, 4), (1, 2)), ("x", 0, (4, 1, 3), (5, 2, 1))):
        case = group.case(f"take_along_axis_{label}")
        case.option("axis", axis)
        ids = case.random_ids("ids", 0, shape[axis], ids_shape)
        case.finish(y=torch.take_along_dim(case.tensor("x", shape), ids, axis))
    for axis in (0, 1, 2):
        case = group.case(f"index_select_{axis}")
        case.option("axis", axis)
        ids = case.ids("ids", (2, 0, 2, 1))
        case.finish(y=torch.index_select(case.tensor("x", (3, 3, 4)), axis, ids))
    for label, axis, shape, ids_shape in (("rows", 0, (3, 2), (5, 2)), ("last", -1, (2, 4), (2, 6)), ("middle", 1, (2, 3, 2), (2, 5, 2))):
        case = group.case(f"scatter_add_{label}")
        case.option("axis", axis)
        ids = case.random_ids("ids", 0, shape[axis], ids_shape)
        case.finish(y=torch.scatter_add(case.tensor("x", shape), axis, ids, case.tensor("src", ids_shape)))


EQUATIONS = {  # one letter a size
    "matmul": ("ij,jk->ik", (2, 3), (3, 4)), "nt": ("ij,kj->ik", (2, 3), (4, 3)), "implicit": ("kj,ji", (4, 3), (3, 2)),
    "heads": ("bqhd,bkhd->bhqk", (2, 3, 2, 4), (2, 5, 2, 4)), "outer": ("i,j->ij", (3,), (4,)), "dot": ("i,i->", (5,), (5,)),
    "sum": ("ij->j", (3, 4)), "total": ("ij->", (3, 4)), "transpose": ("ijk->kij", (2, 3, 4)), "hadamard": ("ij,ij->ji", (2, 3), (2, 3)),
    "trace": ("ii->", (4, 4)), "diagonal": ("iji->ji", (3, 2, 3)), "ellipsis": ("...ij,...jk->...ik", (2, 3, 4), (4, 2)),
    "ellipsis_broadcast": ("...i,...i->...", (3, 1, 4), (2, 4)), "three": ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    "bilinear": ("bi,oij,bj->bo", (2, 3), (2, 3, 4), (2, 4)), "summed": ("ij,k->k", (2, 3), (4,)), "scalar": (",i->i", (), (3,)),
}


def equations(group):
    for label, (equation, *shapes) in EQUATIONS.items():
        case = group.case(f"einsum_{label}")
        case.ids("equation", [ord(c) for c in equation])
        operands = [case.tensor(f"x{i}", shape) for i, shape in enumerate(shapes)]
        case.finish(y=torch.einsum(equation, *operands))


def make():
    group = Group("movement")
    rearranging(group)
    picking(group)
    equations(group)
    return group
