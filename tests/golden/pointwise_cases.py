"""Golden cases of functions, choices, activations and gated units element by element."""
import torch
import torch.nn.functional as F

from golden_case import Group

RAMP = torch.arange(-36, 37) * 0.25  # -9 … 9: tails, and 0 itself


def functions(group):
    for label, f, positive in (("log1p", torch.log1p, True), ("expm1", torch.expm1, False), ("log2", torch.log2, True),
                               ("rsqrt", torch.rsqrt, True), ("abs", torch.abs, False), ("sin", torch.sin, False), ("cos", torch.cos, False)):
        case = group.case(label)
        case.finish(y=f(case.positive("x", (3, 11), 0.1, 5.0) if positive else case.tensor("x", (3, 11), 1.5)))
    for p in (-1.5, 0.0, 1.0, 2.0, 3.5):
        case = group.case(f"power_{str(p).replace('.', '_').replace('-', 'minus_')}")
        case.option("p", p)
        case.finish(y=case.positive("x", (3, 5), 0.2, 3.0) ** p)
    case = group.case("power_of_number")
    case.option("base", 2.5)
    case.finish(y=torch.pow(2.5, case.tensor("x", (9,))))
    for label, a, b in (("same", (2, 5), (2, 5)), ("row", (2, 3, 4), (4,)), ("outer", (3, 1), (1, 4))):
        case = group.case(f"pow_{label}")
        case.finish(y=case.positive("a", a, 0.2, 3.0) ** case.tensor("b", b))


def choices(group):
    for op in ("maximum", "minimum"):
        for label, a, b in (("same", (2, 5), (2, 5)), ("row", (2, 3, 4), (4,)), ("outer", (3, 1), (1, 4))):
            case = group.case(f"{op}_{label}")
            case.finish(y=getattr(torch, op)(case.tensor("a", a), case.tensor("b", b)))
        case = group.case(f"{op}_ties")
        case.finish(y=getattr(torch, op)(case.given("a", torch.tensor([1.0, 2.0, -3.0, 0.0])), case.given("b", torch.tensor([1.0, 1.0, -3.0, 5.0]))))
    case = group.case("clamp")
    case.finish(y=case.given("x", RAMP.clone()).clamp(case.option("min", -2.6), case.option("max", 4.1)))
    case = group.case("where")
    condition = case.ids("condition", [[1], [0], [1]])
    case.finish(y=torch.where(condition.bool(), case.tensor("a", (3, 4)), case.tensor("b", (4,))))
    case = group.case("masked_fill")
    mask = case.ids("mask", [0, 1, 1, 0, 0])
    case.finish(y=case.tensor("x", (3, 5)).masked_fill(mask.bool(), case.option("value", -7.0)))


def activations(group):
    ramps = (("sigmoid", torch.sigmoid), ("log_sigmoid", F.logsigmoid), ("silu", F.silu), ("softplus", lambda x: F.softplus(x, threshold=1e9)),
             ("leaky_relu", F.leaky_relu), ("elu", F.elu))
    for label, f in ramps:
        case = group.case(f"{label}_ramp")
        case.finish(y=f(case.given("x", RAMP.clone())))
    case = group.case("softplus_beta")
    case.finish(y=F.softplus(case.given("x", RAMP.clone()), beta=case.option("beta", 2.5), threshold=1e9))
    case = group.case("leaky_relu_slope")
    case.finish(y=F.leaky_relu(case.given("x", RAMP.clone()), case.option("slope", 0.25)))
    case = group.case("elu_alpha")
    case.finish(y=F.elu(case.given("x", RAMP.clone()), case.option("alpha", 1.5)))
    case = group.case("glu")
    case.finish(y=F.glu(case.tensor("x", (3, 10))))
    for label, gate in (("swiglu", F.silu), ("geglu", F.gelu)):
        case = group.case(label)
        a, b = case.tensor("x", (3, 10)).chunk(2, -1)
        case.finish(y=a * gate(b))


def make():
    group = Group("pointwise")
    for part in (functions, choices, activations):
        part(group)
    return group
