"""Golden cases of torch.nn layers; parameters are stored by their torch names."""
import math

import torch
from torch import nn

from golden_case import Group

WIDTH, HEADS, FF = 8, 2, 12


def later(tq, tk=None):
    """Torch's mask: true = hidden."""
    return torch.ones(tq, tk or tq).triu(1 + (tk or tq) - tq).bool()


def kept(lens, t):
    return torch.arange(t) < lens[:, None]


def small(group):
    case = group.case("linear")
    case.finish(y=case.own(nn.Linear(5, 7))(case.tensor("x", (2, 3, 5))))
    case = group.case("linear_no_bias")
    case.finish(y=case.own(nn.Linear(5, 7, bias=False))(case.tensor("x", (4, 5))))
    case = group.case("embedding_padding")
    case.finish(y=case.own(nn.Embedding(6, 4, padding_idx=0))(case.ids("ids", [[1, 5, 0], [5, 5, 0]])))
    case = group.case("layer_norm")
    case.finish(y=case.own(nn.LayerNorm(9))(case.tensor("x", (2, 3, 9))))
    case = group.case("layer_norm_no_bias")
    case.finish(y=case.own(nn.LayerNorm(9, bias=False))(case.tensor("x", (2, 3, 9))))


def positions(group):
    """The sinusoidal table, sines at even and cosines at odd columns (Vaswani et al. 2017, 3.5)."""
    for label, rows, width in (("even", 9, 8), ("long", 65, 6)):
        angle = torch.arange(rows)[:, None] * torch.exp(-math.log(10000.0) * torch.arange(0, width, 2) / width)
        group.case(f"sinusoidal_{label}").put("out", "table", torch.stack((angle.sin(), angle.cos()), -1).flatten(1))


def attention(group):
    def multi_head(**options):
        return nn.MultiheadAttention(WIDTH, HEADS, batch_first=True, **options)

    for label, bias in (("self", True), ("self_no_bias", False)):
        case = group.case(f"mha_{label}")
        x = case.tensor("x", (2, 5, WIDTH))
        y, w = case.own(multi_head(bias=bias))(x, x, x, average_attn_weights=False)
        case.finish(y=y, weights=w)
    for label, kdim, vdim, bias in (("cross", WIDTH, WIDTH, True), ("cross_widths", 6, 10, True), ("cross_widths_no_bias", 6, 10, False),
                                    ("cross_value_width", WIDTH, 4, True)):
        case = group.case(f"mha_{label}")
        q, k, v = case.tensor("q", (2, 3, WIDTH)), case.tensor("k", (2, 5, kdim)), case.tensor("v", (2, 5, vdim))
        y, w = case.own(multi_head(kdim=kdim, vdim=vdim, bias=bias))(q, k, v, average_attn_weights=False)
        case.finish(y=y, weights=w)
    case = group.case("mha_memory")  # key and value are one tensor
    q, m = case.tensor("q", (2, 3, WIDTH)), case.tensor("m", (2, 5, WIDTH))
    y, w = case.own(multi_head())(q, m, m, average_attn_weights=False)
    case.finish(y=y, weights=w)
    case = group.case("mha_causal")
    x = case.tensor("x", (2, 6, WIDTH))
    y, w = case.own(multi_head())(x, x, x, attn_mask=later(6), average_attn_weights=False)
    case.finish(y=y, weights=w)
    case = group.case("mha_padding")
    q, m, lens = case.tensor("q", (3, 4, WIDTH)), case.tensor("m", (3, 5, WIDTH)), case.ids("lens", [5, 1, 3])
    y, w = case.own(multi_head())(q, m, m, key_padding_mask=~kept(lens, 5), average_attn_weights=False)
    case.finish(y=y, weights=w)


def encoder_layer(norm_first, activation, bias=True, ff=FF):
    return nn.TransformerEncoderLayer(WIDTH, HEADS, ff, 0.0, activation, norm_first=norm_first, bias=bias, batch_first=True)


def decoder_layer(norm_first, activation, bias=True, ff=FF):
    return nn.TransformerDecoderLayer(WIDTH, HEADS, ff, 0.0, activation, norm_first=norm_first, bias=bias, batch_first=True)


def layers(group):
    for norm_first in (False, True):
        for activation in ("relu", "gelu"):
            label = f"{'pre' if norm_first else 'post'}_{activation}"
            case = group.case(f"encoder_layer_{label}")
            case.finish(y=case.own(encoder_layer(norm_first, activation))(case.tensor("x", (2, 5, WIDTH))))
            case = group.case(f"decoder_layer_{label}")
            x, m = case.tensor("x", (2, 4, WIDTH)), case.tensor("memory", (2, 5, WIDTH))
            case.finish(y=case.own(decoder_layer(norm_first, activation))(x, m, tgt_mask=later(4)))
    case = group.case("encoder_layer_no_bias")
    case.finish(y=case.own(encoder_layer(True, "gelu", bias=False))(case.tensor("x", (2, 5, WIDTH)), src_mask=later(5)))
    case = group.case("decoder_layer_no_bias")
    x, m = case.tensor("x", (2, 4, WIDTH)), case.tensor("memory", (2, 5, WIDTH))
    case.finish(y=case.own(decoder_layer(False, "relu", bias=False))(x, m))


def stacks(group):
    for label, norm_first, norm in (("post", False, False), ("pre_norm", True, True)):
        case = group.case(f"encoder_{label}")
        final = nn.LayerNorm(WIDTH) if norm else None
        stack = case.own(nn.TransformerEncoder(encoder_layer(norm_first, "relu"), 2, final, enable_nested_tensor=False))
        x, lens = case.tensor("x", (3, 5, WIDTH)), case.ids("lens", [5, 2, 4])
        case.finish(y=stack(x, src_key_padding_mask=~kept(lens, 5)), keep=kept(lens, 5))

        case = group.case(f"decoder_{label}")
        final = nn.LayerNorm(WIDTH) if norm else None
        stack = case.own(nn.TransformerDecoder(decoder_layer(norm_first, "gelu"), 2, final))
        x, m = case.tensor("x", (3, 4, WIDTH)), case.tensor("memory", (3, 5, WIDTH))
        tgt_lens, lens = case.ids("tgt_lens", [2, 4, 3]), case.ids("lens", [5, 2, 4])
        y = stack(x, m, tgt_mask=later(4), tgt_key_padding_mask=~kept(tgt_lens, 4), memory_key_padding_mask=~kept(lens, 5))
        case.finish(y=y, keep=kept(tgt_lens, 4))


def transformers(group):
    for label, depths, norm_first, activation, bias in (("post", (2, 2), False, "relu", True), ("pre", (1, 2), True, "gelu", True),
                                                        ("no_bias", (2, 1), True, "relu", False)):
        case = group.case(f"transformer_{label}")
        model = case.own(nn.Transformer(WIDTH, HEADS, *depths, FF, 0.0, activation, norm_first=norm_first, bias=bias, batch_first=True))
        src, tgt = case.tensor("src", (3, 5, WIDTH)), case.tensor("tgt", (3, 4, WIDTH))
        src_lens, tgt_lens = case.ids("src_lens", [3, 5, 1]), case.ids("tgt_lens", [4, 2, 3])
        hidden = ~kept(src_lens, 5)
        y = model(src, tgt, tgt_mask=later(4), src_key_padding_mask=hidden, tgt_key_padding_mask=~kept(tgt_lens, 4),
                  memory_key_padding_mask=hidden)
        case.finish(y=y, keep=kept(tgt_lens, 4))
    case = group.case("transformer_masks")  # every score mask: source, target and memory
    model = case.own(nn.Transformer(WIDTH, HEADS, 1, 1, FF, 0.0, batch_first=True))
    src, tgt = case.tensor("src", (2, 5, WIDTH)), case.tensor("tgt", (2, 4, WIDTH))
    src_allow, memory_allow = case.mask("src_allow", (5, 5)), case.mask("memory_allow", (4, 5))
    case.finish(y=model(src, tgt, src_mask=~src_allow, tgt_mask=later(4), memory_mask=~memory_allow))


def make():
    group = Group("layers")
    for part in (small, positions, attention, layers, stacks, transformers):
        part(group)
    return group
