"""Golden cases of whole models, ids in, logits and loss out."""
import math

import torch
import torch.nn.functional as F
from torch import nn

from golden_case import Group
from layer_cases import kept, later


class CausalLM(nn.Module):
    """Pre-norm GPT with learned positions and a tied head, in the parameter names of the library."""

    def __init__(self, vocabulary, context, width, heads, layers, ff, bias):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        layer = nn.TransformerEncoderLayer(width, heads, ff, 0.0, "gelu", norm_first=True, bias=bias, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, nn.LayerNorm(width, bias=bias), enable_nested_tensor=False)

    def forward(self, ids):
        t = ids.shape[1]
        h = self.encoder(self.tok(ids) + self.pos(torch.arange(t)), mask=later(t))
        return h @ self.tok.weight.T


class Seq2Seq(nn.Module):
    """nn.Transformer between embeddings and a head; padding id 0; sinusoidal positions."""

    def __init__(self, source, target, width, heads, layers, ff, scale, shared):
        super().__init__()
        self.width, self.scale, self.shared = width, scale, shared
        self.src_embed = nn.Embedding(source, width, padding_idx=0)
        if not shared:
            self.tgt_embed = nn.Embedding(target, width, padding_idx=0)
        self.transformer = nn.Transformer(width, heads, layers, layers, ff, 0.0, batch_first=True)
        if not shared:
            self.head = nn.Linear(width, target, bias=False)

    def positions(self, t):
        angle = torch.arange(t)[:, None] * torch.exp(-math.log(10000.0) * torch.arange(0, self.width, 2) / self.width)
        return torch.stack((angle.sin(), angle.cos()), -1).flatten(1).to(self.src_embed.weight.dtype)

    def forward(self, src, tgt):
        factor = math.sqrt(self.width) if self.scale else 1.0
        embed = self.src_embed if self.shared else self.tgt_embed
        x = self.src_embed(src) * factor + self.positions(src.shape[1])
        y = embed(tgt) * factor + self.positions(tgt.shape[1])
        h = self.transformer(x, y, tgt_mask=later(tgt.shape[1]), src_key_padding_mask=src == 0, tgt_key_padding_mask=tgt == 0,
                             memory_key_padding_mask=src == 0)
        return h @ (self.src_embed if self.shared else self.head).weight.T


def causal_lms(group):
    for label, bias in (("no_bias", False), ("bias", True)):
        case = group.case(f"causal_lm_{label}")
        model = case.own(CausalLM(13, 8, 12, 3, 2, 24, bias), 0.2)
        ids, targets = case.random_ids("ids", 0, 13, (2, 7)), case.random_ids("targets", 0, 13, (2, 7))
        logits = model(ids)
        case.finish(loss=F.cross_entropy(logits.flatten(0, 1), targets.flatten()), logits=logits)


def padded(case, name, low, high, lens, t):
    ids = torch.randint(low, high, (len(lens), t), generator=case.random)
    return case.ids(name, torch.where(kept(torch.tensor(lens), t), ids, 0))


def seq2seqs(group):
    for label, source, target, scale, shared in (("separate", 9, 11, False, False), ("shared_scaled", 11, 11, True, True)):
        case = group.case(f"seq2seq_{label}")
        model = case.own(Seq2Seq(source, target, 8, 2, 2, 12, scale, shared), 0.3)
        src, src_lens = padded(case, "src", 1, source, [6, 2, 4], 6), case.ids("src_lens", [6, 2, 4])
        tgt, tgt_lens = padded(case, "tgt", 1, target, [3, 5, 4], 5), case.ids("tgt_lens", [3, 5, 4])
        labels = padded(case, "labels", 1, target, [3, 5, 4], 5)
        logits = model(src, tgt)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=0, label_smoothing=0.1)
        case.finish(loss=loss, logits=torch.where(kept(tgt_lens, 5)[..., None], logits, 0.0))


def make():
    group = Group("models")
    causal_lms(group)
    seq2seqs(group)
    return group
