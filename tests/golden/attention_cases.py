"""Golden cases of the attention op: projected q, k, v of all heads side by side, [B, T, H * d]."""
import math

import torch

from golden_case import Group


def attend(q, k, v, heads, allow=None, bias=None):
    def split(x):
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)  # [B, H, T, d]

    q, k, v = split(q), split(k), split(v)
    scores = q @ k.mT / math.sqrt(q.shape[-1])  # [B, H, Tq, Tk]
    if bias is not None:
        scores = scores + bias
    if allow is not None:
        scores = scores.masked_fill(~allow, -math.inf)
    weights = scores.softmax(-1)
    y = (weights @ v).transpose(1, 2).flatten(2)
    with torch.no_grad():  # the fused kernel of torch says the same
        mask = scores.new_zeros(scores.shape) if bias is None else bias.expand(scores.shape).clone()
        if allow is not None:
            mask.masked_fill_(~allow, -math.inf)
        fused = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        assert torch.allclose(fused.transpose(1, 2).flatten(2), y, rtol=0, atol=1e-13)
    return y, weights


def causal(tq, tk):
    return ~torch.ones(tq, tk).triu(tk - tq + 1).bool()


def before(lens, tk):
    """[B, 1, 1, Tk] from lengths [B], [B, 1, Tq, Tk] from lengths per query [B, Tq]."""
    return torch.arange(tk) < (lens[:, None, None, None] if lens.dim() == 1 else lens[:, None, :, None])


def packed(case, q_lens, k_lens, allow=None):
    """The valid rows of all samples, one after the other."""
    heads, width = case.option("heads", 2), 8
    q_lens, k_lens = case.ids("q_lens", q_lens), case.ids("k_lens", k_lens)

    def padded(name, lens):
        rows = case.tensor(name, (int(lens.sum()), width)).split(lens.tolist())
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)

    q, k, v = padded("q", q_lens), padded("k", k_lens), padded("v", k_lens)
    visible = before(k_lens, k.shape[1])
    y, _ = attend(q, k, v, heads, visible if allow is None else visible & allow)
    case.finish(y=y[torch.arange(q.shape[1]) < q_lens[:, None]])


def make():
    group = Group("attention")

    def run(name, heads, width, tq, tk=None, batch=2, value_width=None, form="", scale=1.0, allow=None, bias=None):
        case = group.case(name)
        tk = tk or tq
        case.option("heads", heads)
        if form == "qkv":
            q, k, v = case.tensor("qkv", (batch, tq, 3 * width), scale).chunk(3, -1)
        else:
            q = case.tensor("q", (batch, tq, width), scale)
            if form == "kv":
                k, v = case.tensor("kv", (batch, tk, 2 * width), scale).chunk(2, -1)
            else:
                k = case.tensor("k", (batch, tk, width), scale)
                v = case.tensor("v", (batch, tk, value_width or width), scale)
        y, weights = attend(q, k, v, heads, allow(case) if allow else None, case.tensor("bias", bias) if bias else None)
        case.finish(**({"y": y, "weights": weights} if tk <= 33 else {"y": y}))

    run("plain_self", 2, 8, 5)
    run("plain_one_head", 1, 5, 9)
    run("plain_long", 2, 8, 65, batch=1)
    run("plain_qkv", 4, 8, 7, form="qkv")
    run("plain_large_scores", 2, 8, 6, scale=3.0)
    run("plain_one_position", 2, 4, 1)
    run("plain_cross", 2, 8, 4, 7)
    run("plain_cross_kv", 2, 8, 4, 7, form="kv")
    run("plain_cross_long", 1, 4, 3, 270, batch=1)
    run("plain_value_width", 2, 8, 4, 5, value_width=6)
    run("causal_square", 2, 8, 9, allow=lambda case: causal(9, 9))
    run("causal_qkv", 2, 6, 17, form="qkv", allow=lambda case: causal(17, 17))
    run("causal_cache", 2, 8, 3, 8, allow=lambda case: causal(3, 8))
    run("causal_tile", 1, 4, 70, batch=1, allow=lambda case: causal(70, 70))
    run("causal_long_cache", 1, 4, 3, 258, batch=1, allow=lambda case: causal(3, 258))
    run("causal_lens", 2, 8, 6, allow=lambda case: before(case.ids("lens", [6, 3]), 6) & causal(6, 6))
    run("causal_bias", 2, 8, 7, allow=lambda case: causal(7, 7), bias=(2, 2, 7, 7))
    run("lens", 2, 8, 4, 9, batch=3, allow=lambda case: before(case.ids("lens", [9, 1, 5]), 9))
    run("lens_kv", 2, 8, 4, 9, form="kv", allow=lambda case: before(case.ids("lens", [7, 8]), 9))
    run("lens_per_query", 2, 8, 3, 7, allow=lambda case: before(case.ids("lens", [[1, 7, 3], [4, 2, 6]]), 7))
    run("lens_long", 1, 2, 2, 270, allow=lambda case: before(case.ids("lens", [257, 40]), 270))
    run("lens_bias", 3, 9, 4, 6, allow=lambda case: before(case.ids("lens", [2, 6]), 6), bias=(1, 3, 4, 6))
    run("allow", 2, 8, 5, 6, allow=lambda case: case.mask("allow", (5, 6)))
    run("allow_batch", 2, 8, 4, 5, allow=lambda case: case.mask("allow", (2, 1, 4, 5)))
    run("allow_heads", 2, 8, 4, 5, allow=lambda case: case.mask("allow", (1, 2, 4, 5)))
    run("bias_heads", 2, 8, 5, 6, bias=(1, 2, 5, 6))
    run("bias_shared", 2, 8, 5, 6, bias=(5, 6))
    run("bias_keys", 2, 8, 5, 6, bias=(2, 1, 1, 6))
    packed(group.case("packed"), [4, 2, 1], [1, 5, 3])
    packed(group.case("packed_causal"), [2, 5, 3], [2, 5, 3], causal(5, 5))
    return group
