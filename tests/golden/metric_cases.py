"""Writes tests/golden/metrics.json: scores, signatures, intervals and tests by sacreBLEU that the C++ tests compare with."""
import json
import os
import random

from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.significance import PairedTest

FOLDER = os.path.dirname(os.path.abspath(__file__))

HYPOTHESES = [
    "The quick brown fox jumps over the lazy dog.",
    "",
    "Yes",
    "“Quoted” – he said: «oui», isn’t it…?",
    "我喜欢 机器 翻译。",
    "It costs 1,234,567.89 dollars, or 12,5 euros (5-3).",
    "don't stop-me now! #1 a_b c/d 50%",
    "ΣΊΣΥΦΟΣ ẞtraße İstanbul ÉCOLE",
    "a a a a a a",
    "The the THE tHe.",
    "end . of , the ; line",
    "&quot;x &amp;lt; y&quot; <skipped> z",
    "日本語のテスト、１２３。 ok",
    "x² + ½ = ¾ € $5.00 ©",
    "one two three four five six seven eight",
    "move this part of the sentence to the end please",
    "trailing spaces  \t",
    "emoji 🙂 and combining e\u0301",
]
REFERENCES = [
    [
        "The quick brown fox jumped over the lazy dog .",
        "Nothing was said.",
        "Yes",
        "“Quoted” — he said: «oui», isn’t it …?",
        "我 喜欢 机器翻译。",
        "It costs 1,234,567.89 dollars, or 12.5 euros (5-3).",
        "Don't stop me now! #1 a_b c / d 50 %",
        "σίσυφος straße istanbul école",
        "a a a",
        "the the the the .",
        "end. of, the; line",
        "\"x < y\" z",
        "日本語 のテスト、123。 OK",
        "x² + ½ = ¾ € 5.00 $ ®",
        "one two three four five six seven eight",
        "to the end please move this part of the sentence",
        "trailing spaces",
        "emoji 🙃 and combining é",
    ],
    [
        "A quick brown fox jumps over a lazy dog.",
        "",
        "Yes, indeed",
        "“Quoted”, he said: “oui”, isn't it?",
        "我爱机器翻译。",
        "It costs 1234567.89 dollars or 12,5 euros.",
        "do not stop me now!",
        "Sisyphos Straße Istanbul ecole",
        "a b a",
        "The.",
        "the end of the line",
        "x < y",
        "日本語テスト",
        "x2 + 1/2",
        "eight seven six five four three two one",
        "please move this part of the sentence to the end",
        "spaces that trail",
        "an emoji",
    ],
]


def noisy(random_, sentence, rate):
    words = [w if random_.random() > rate else random_.choice("der die das ein Haus Baum , . ! nicht 1,5 ß".split()) for w in sentence.split()]
    if len(words) > 4 and random_.random() < 0.4:
        cut = random_.randrange(1, len(words))
        words = words[cut:] + words[:cut]
    return " ".join(words)


def corpora():
    yield "sentences of every kind", HYPOTHESES, REFERENCES
    yield "one reference", HYPOTHESES, REFERENCES[:1]
    yield "nothing matches", ["a x y z w", "q"], [["a b c d e", "r"]]
    yield "all hypotheses empty", ["", ""], [["a b", "c"]]
    yield "references empty", ["a b", ""], [["", ""]]
    yield "one word", ["word"], [["word"]]
    random_ = random.Random(7)
    words = "Der alte Mann sieht den kleinen Hund , der im Garten schläft und nicht 1,5 Meter groß ist .".split()
    reference = [" ".join(random_.choice(words) for _ in range(random_.randint(1, 20))) for _ in range(40)]
    yield "noise", [noisy(random_, r, 0.2) for r in reference], [reference]
    # Longer than TER's beam (25), farthest move (50) and longest run (10); far shorter and far longer than the reference.
    long = [f"{random_.choice(words)}{i % 40}" for i in range(90)]
    yield "long sentences", [
        " ".join(long[60:85] + long[:60] + long[85:]),
        " ".join(long[:5]),
        " ".join(long[40:90] + long[:40]),
        " ".join(noisy(random_, " ".join(long[:70]), 0.3).split()[::-1]),
    ], [[" ".join(long), " ".join(long), " ".join(long[45:50]), " ".join(long[:70])]]


METRICS = (
    [("bleu", {"tokenizer": t, "lower_case": lower}) for t in ("13a", "intl", "char", "none") for lower in (False, True)]
    + [("bleu", {"smoothing": s, "effective_order": e}) for s in ("exp", "floor", "add-k", "none") for e in (False, True)]
    + [("bleu", {"smoothing": "floor", "smoothing_value": 0.25}), ("bleu", {"smoothing": "add-k", "smoothing_value": 0.5})]
    + [("chrf", {}), ("chrf", {"words": 2}), ("chrf", {"words": 1, "lower_case": True}), ("chrf", {"white_space": True})]
    + [("chrf", {"characters": 3, "beta": 1})]
    + [("ter", {}), ("ter", {"case_sensitive": True}), ("ter", {"normalized": True}), ("ter", {"punctuation": False})]
    + [("ter", {"normalized": True, "punctuation": False})]
)


def metric(kind, options, **more):
    """sacreBLEU's metric for our names of its options."""
    o = dict(options)
    if kind == "bleu":
        return BLEU(tokenize=o.get("tokenizer", "13a"), lowercase=o.get("lower_case", False), smooth_method=o.get("smoothing", "exp"),
                    smooth_value=o.get("smoothing_value"), effective_order=o.get("effective_order", False), **more)
    if kind == "chrf":
        return CHRF(char_order=o.get("characters", 6), word_order=o.get("words", 0), beta=o.get("beta", 2), lowercase=o.get("lower_case", False),
                    whitespace=o.get("white_space", False), **more)
    return TER(case_sensitive=o.get("case_sensitive", False), normalized=o.get("normalized", False), no_punct=not o.get("punctuation", True), **more)


def scored(kind, options, hypotheses, references):
    m = metric(kind, options)
    result = m.corpus_score(hypotheses, references)
    return {"metric": kind, "options": options, "score": result.score, "text": result.format(width=2), "signature": str(m.get_signature())}


def resampled(kind, hypotheses, baseline, references):
    m = metric(kind, {})
    text = m.corpus_score(hypotheses, references, n_bootstrap=1000).format(width=2)
    signature = str(m.get_signature())
    m = metric(kind, {}, references=references)
    _, results = PairedTest([("baseline", baseline), ("system", hypotheses)], {kind: m}, None, test_type="bs", n_samples=1000)()
    p = [v[1].p_value for k, v in results.items() if k != "System"][0]
    return {"metric": kind, "text": text, "signature": signature, "p": float(p)}


def write():
    cases = []
    for name, hypotheses, references in corpora():
        case = {"name": name, "hypotheses": hypotheses, "references": references}
        case["results"] = [scored(kind, options, hypotheses, references) for kind, options in METRICS]
        if name == "noise":
            random_ = random.Random(8)
            case["baseline"] = [noisy(random_, r, 0.22) for r in references[0]]
            case["resampled"] = [resampled(kind, hypotheses, case["baseline"], references) for kind in ("bleu", "chrf", "ter")]
        cases.append(case)
    with open(os.path.join(FOLDER, "metrics.json"), "w", encoding="utf-8", newline="\n") as file:
        json.dump(cases, file, ensure_ascii=False, indent=1)
        file.write("\n")


if __name__ == "__main__":
    write()
