"""Writes metrics.json, then scores random corpora with examples/score and with sacreBLEU, and compares every printed character but the version.

    python metrics.py SCORE_PROGRAM [CORPORA]"""
import os
import random
import re
import subprocess
import sys
import tempfile

from metric_cases import metric, write

WORDS = """der die das the The THE ein Haus house house. Hund, (dog) "cat" cats' it's don't 1,234.5 1.234,5 12-14 x-ray 50% $5 €7 a.b.c U.S.A. ... … – — -
“Zitat” «oui» ‚ja‘ ¿Qué? ¡No! 日本語 テスト。 、 中文 机器翻译 한국어 Straße STRASSE ẞ Σίσυφος ΣΑΣ İstanbul ﬁ e\u0301 é ½ x² № ™ & &amp; &quot;hm&quot; &lt;b&gt;
<skipped> # @me a_b [x] {y} ~ ^ | \\ / :-) 🙂 \u00a0 \u200b \u2028 i j k l m n""".split(" ")
WORDS = [w for part in WORDS for w in part.split("\n")]


def sentence(r, lengths=(0, 1, 2, 3, 5, 8, 13, 21)):
    return " ".join(r.choice(WORDS) for _ in range(r.choice(lengths)))


def translation(r, reference):
    words = reference.split(" ")
    words = [w if r.random() > 0.25 else r.choice(WORDS) for w in words if r.random() > 0.08]
    if len(words) > 3 and r.random() < 0.5:
        a, b, c = sorted(r.randrange(len(words) + 1) for _ in range(3))
        words = words[:a] + words[b:c] + words[a:b] + words[c:]
    text = (" " if r.random() > 0.05 else "  ").join(words)
    return r.choice([text, text, text, text.upper(), text.lower(), text + " "])


def options(r):
    """Ours, and the arguments of our program."""
    kind = r.choice(["bleu", "bleu", "chrf", "ter"])
    o, words = {}, ["--metrics", kind]

    def flag(name, argument, share=0.3):
        if r.random() < share:
            o[name] = True
            words.append(argument)

    if kind == "bleu":
        o["tokenizer"] = r.choice(["13a", "intl", "char", "none"])
        o["smoothing"] = r.choice(["exp", "floor", "add-k", "none"])
        words += ["--tokenizer", o["tokenizer"], "--smoothing", o["smoothing"]]
        if o["smoothing"] in ("floor", "add-k") and r.random() < 0.5:
            o["smoothing_value"] = r.choice([0.01, 0.5, 2.0])
            words += ["--smoothing-value", str(o["smoothing_value"])]
        flag("lower_case", "--lower-case")
        flag("effective_order", "--effective-order")
    elif kind == "chrf":
        o["words"], o["characters"], o["beta"] = r.choice([0, 1, 2]), r.choice([6, 6, 3]), r.choice([1, 2, 3])
        words += ["--chrf-words", str(o["words"]), "--chrf-characters", str(o["characters"]), "--chrf-beta", str(o["beta"])]
        flag("lower_case", "--lower-case")
        flag("white_space", "--chrf-white-space")
    else:
        flag("case_sensitive", "--ter-case")
        flag("normalized", "--ter-normalized")
        if r.random() < 0.3:
            o["punctuation"] = False
            words.append("--ter-no-punctuation")
    return kind, o, words


def without_version(line):
    return re.sub(r"version:[^ |]*", "version", line)


def compare(program, folder, number):
    r = random.Random(number)
    size, streams = r.choice([1, 2, 5, 20, 60]), r.choice([1, 1, 2, 3])
    if number % 25 == 0:  # past the limits of TER's searches, which take sacreBLEU seconds
        first = [sentence(r, (40, 80, 120)) for _ in range(min(size, 2))]
    else:
        first = [sentence(r) for _ in range(size)]
    references = [first] + [[translation(r, s) for s in first] for _ in range(streams - 1)]
    hypotheses = [translation(r, s) for s in first]
    names = []
    for i, lines in enumerate([hypotheses] + references):
        names.append(os.path.join(folder, str(i)))
        with open(names[-1], "w", encoding="utf-8", newline="\n") as file:
            file.write("".join(line + "\n" for line in lines))
    kind, o, words = options(r)
    command = [program, "--hypothesis", names[0], "--reference", ",".join(names[1:]), "--decimals", "2"] + words
    bootstrap = 100 if r.random() < 0.1 and size > 1 else 1
    m = metric(kind, o)
    try:
        score = m.corpus_score(hypotheses, references, n_bootstrap=bootstrap)
    except TypeError:  # sacreBLEU cannot take the mean of samples with and without words
        bootstrap, m = 1, metric(kind, o)
        score = m.corpus_score(hypotheses, references)
    if bootstrap > 1:
        command += ["--confidence", "--samples", str(bootstrap)]
    ours = subprocess.run(command, check=True, capture_output=True, text=True).stdout.rstrip("\n")
    theirs = score.format(width=2, signature=str(m.get_signature()))
    if without_version(ours) == without_version(theirs):
        return True
    print(f"corpus {number}, {kind} {o}:\n  ours   {ours}\n  theirs {theirs}")
    return False


def main():
    program, corpora = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    write()
    with tempfile.TemporaryDirectory() as folder:
        wrong = sum(not compare(program, folder, number) for number in range(corpora))
    print(f"{corpora - wrong} of {corpora} random corpora score as with sacreBLEU")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
