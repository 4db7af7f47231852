"""Chooses what the voices say: whole turns of the grammars and of the claim judge's authors, with punctuation.

usage: python3 sentences.py OUT.jsonl [--claims FOLDER] [--each N] [--written N] [--seed N]
"""
import argparse
import json
import pathlib
import random
import re

from turns import FILLERS, Grammar, written

ASKS = re.compile(r"^(hello |hi |sorry |excuse me |so |and |but |um |uh |mummy )*(what|who|whose|which|when|where|why|how|is|are|am|was|were|do|does|did|can|could|will|would|should|shall|may|have|has|had)('s|'re|'d)?\b")
NEGATED = re.compile(r"^(don't|doesn't|didn't|isn't|aren't|can't|won't)\b")


# Marks at which the voice makes a pause and goes on: level, falling a little, falling as at an end.
MARKS = ",,,,,,;;:."


def spoken(text: str, pick: random.Random) -> str:
    """Grammars have no punctuation: marks at clause ends, some in odd places, as when somebody thinks."""
    tokens = text.split()
    words = []
    for place, token in enumerate(tokens):
        if token in ("/", ";"):
            if words and pick.random() < (0.6 if token == "/" else 0.8):
                if pick.random() < 0.12:
                    words.append(pick.choice(FILLERS["en"]).split()[-1])
                words[-1] += pick.choice(MARKS)
        else:
            words.append(token)
    hesitate(words, pick)
    plain = " ".join(word for word in tokens if word not in ("/", ";"))
    end = "?" if ASKS.match(plain) or NEGATED.match(plain) and pick.random() < 0.3 else "!" if pick.random() < 0.06 else "."
    return re.sub(r"([,;:.])[,;:.]+", r"\1", " ".join(words)) + end


def hesitate(words: list[str], pick: random.Random) -> None:
    if len(words) < 4:
        return
    if pick.random() < 0.3:
        place = pick.randrange(1, len(words) - 1)
        words[place] = words[place].rstrip(",;:.") + ","
    if pick.random() < 0.12:
        place = pick.randrange(1, len(words))
        words.insert(place, pick.choice(FILLERS["en"]).split()[-1] + ",")
        words[place - 1] = words[place - 1].rstrip(",;:.") + ("," if pick.random() < 0.5 else "")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--claims", type=pathlib.Path)
    parser.add_argument("--each", type=int, default=8)
    parser.add_argument("--written", type=int, default=3500)
    parser.add_argument("--seed", type=int, default=3)
    given = parser.parse_args()
    pick = random.Random(given.seed)
    out = []
    for path in sorted((pathlib.Path(__file__).parent / "data").glob("en-*.txt")):
        grammar = Grammar(path)
        for template in grammar.templates:
            # Pauses after a clause are the hard cases.
            count = given.each * (3 if " / " in template or " ; " in template else 1)
            for text in sorted({grammar.expand(template, pick) for _ in range(count)}):
                out.append({"author": grammar.author, "text": spoken(text, pick)})
                # The same words as a whole turn: only the voice differs.
                if " / " in text and pick.random() < 0.5:
                    out.append({"author": grammar.author, "text": spoken(text.split(" / ")[0], pick)})
    lines = [line for line in written(given.claims) if re.fullmatch(r"[A-Z][A-Za-z',;? ]{15,140}[.?]", line)] if given.claims else []
    for line in pick.sample(lines, min(given.written, len(lines))):
        words = line.split()
        if pick.random() < 0.5:
            hesitate(words, pick)
        out.append({"author": "claims", "text": " ".join(words)})
    pick.shuffle(out)
    given.out.write_text("".join(json.dumps(row) + "\n" for row in out))
    print(len(out), "sentences")


if __name__ == "__main__":
    main()
