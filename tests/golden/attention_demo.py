"""Writes tests/golden/numpy/attention_demo.npz: multi-head attention written in numpy, for the test of examples/attention_demo.

Weights and inputs are multiples of 1/256, which every dtype holds and deflate packs well; the results are float64."""
import os

import numpy as np

WIDTH, HEADS = 100, 5


def softmax(scores):
    scores = np.exp(scores - scores.max(-1, keepdims=True))
    return scores / scores.sum(-1, keepdims=True)


def split(x):
    """[B, T, E] -> [B, H, T, E/H]."""
    return x.reshape(*x.shape[:2], HEADS, WIDTH // HEADS).swapaxes(1, 2)


def attention(queries, keys, lens, in_proj, out_proj):
    """out = concat_h(softmax(q_h k_h^T / sqrt(E/H)) v_h) Wo^T, keys from lens on hidden."""
    q, k, v = (split(x @ w.T) for x, w in zip((queries, keys, keys), np.split(in_proj, 3)))
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(WIDTH / HEADS)
    hidden = np.arange(keys.shape[1]) >= lens[:, None]
    weights = softmax(np.where(hidden[:, None, None], -np.inf, scores))
    context = (weights @ v).swapaxes(1, 2).reshape(queries.shape)
    return context @ out_proj.T, weights


def write(folder):
    rng = np.random.default_rng(20240607)

    def draw(deviation, *shape):
        return np.round(256 * deviation * rng.standard_normal(shape)) / 256

    inputs = {"queries": draw(1, 2, 4, WIDTH), "keys": draw(1, 2, 6, WIDTH), "lens": np.array([3, 2]),
              "in_proj_weight": draw(0.1, 3 * WIDTH, WIDTH), "out_proj.weight": draw(0.1, WIDTH, WIDTH)}
    output, weights = attention(*inputs.values())
    inputs = {name: x.astype("f4") if x.dtype == "f8" else x for name, x in inputs.items()}
    np.savez_compressed(os.path.join(folder, "attention_demo.npz"), **inputs, output=output, weights=weights)


if __name__ == "__main__":
    write(os.path.join(os.path.dirname(os.path.abspath(__file__)), "numpy"))
