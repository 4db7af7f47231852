"""Makes more pairs of those that authors wrote, without touching what they say.

usage: python3 augment.py WORDNET_FOLDER PASSAGES.jsonl OUT.jsonl WRITTEN.txt... [--rounds N] [--seed N]

A pair keeps its label when names are exchanged in passage and claim alike, when paragraphs of other pages stand around
the passage, and when two claims are joined: both true stays true, one false makes it false.
"""
import argparse
import json
import pathlib
import random
import re

from perturb import FALSE, NAME, UNSAID, Rules, key_of, nearest, pairs_of, read_written, sentences_of, true_form, written_pairs
from wordnet import WordNet

JOINTS = [", and ", "; ", ", while ", ". ", ", and also ", ", but ", ", whereas ", " and "]


def lowered(claim: str) -> str:
    return claim if re.match(r"[A-Z]{2}|[A-Z]\w* [A-Z]|I ", claim) else claim[:1].lower() + claim[1:]


def joined(rules: Rules, lines: list[str], claims):
    """Two or three things in one sentence; half of these claims are true, so that length gives nothing away."""
    chance = rules.random
    true = [claim for label, claim in claims if label == "yes" and len(claim.split()) < 22]
    said = [(rules.shortened(line) or line) for line in lines if 4 < len((rules.shortened(line) or line).split()) < 22]
    parts = [true_form(rules, part) if chance.random() < 0.5 else part for part in chance.sample(true + said, min(len(true + said), chance.choice([2, 2, 2, 3])))]
    if len(parts) < 2:
        return None
    label, roll = "yes", chance.random()
    false = [pair for pair in claims if pair[0] != "yes" and len(pair[1].split()) < 22]
    place = chance.randrange(len(parts))
    if roll < 0.25 and false:
        label, parts[place] = chance.choice(false)
    elif roll < 0.5:
        for name in chance.sample(FALSE + UNSAID + ("name",), 6):
            changed = rules.name(parts[place], " ".join(lines)) if name == "name" else getattr(rules, name)(parts[place])
            if changed and changed != parts[place]:
                label, parts[place] = ("unsaid" if name in UNSAID else "no"), changed
                break
    text = parts[0].rstrip(".")
    for part in parts[1:]:
        joint = chance.choice(JOINTS)
        text += joint + (part if joint == ". " else lowered(part)).rstrip(".")
    return (label, text + ".") if len(text.split()) < 60 else None


def renamed(chance: random.Random, names: list[str], title: str, prose: list[str], claim: str):
    """Some names of the passage become others, in the passage and in the claim."""
    text = " ".join(prose)
    found = sorted({name[0] for name in NAME.finditer(text)}, key=len, reverse=True)
    found = [name for name in found if " " not in name and len(name) > 3 and len(re.findall(rf"\b{name}\b", text)) < 8]
    for name in chance.sample(found, min(len(found), chance.randint(1, 4))):
        other = chance.choice(names)
        if re.search(rf"\b{other}\b", text + claim):
            continue
        prose = [re.sub(rf"\b{name}\b", other, line) for line in prose]
        claim, title = re.sub(rf"\b{name}\b", other, claim), re.sub(rf"\b{name}\b", other, title)
    return title, prose, claim


def surrounded(chance: random.Random, prose: list[str], strangers: list[dict], most: int = 210):
    """Sentences of another page before or after the passage."""
    lines = chance.choice(strangers)["sentences"]
    room = max(0, most - sum(len(line.split()) for line in prose))
    chosen, words = [], 0
    for line in lines:
        words += len(line.split())
        if words > room:
            break
        chosen.append(line)
    if not chosen:
        return prose
    return [" ".join(chosen), *prose] if chance.random() < 0.5 else [*prose, " ".join(chosen)]


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("wordnet", type=pathlib.Path)
    arguments.add_argument("passages", type=pathlib.Path)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("written", nargs="+", type=pathlib.Path)
    arguments.add_argument("--rounds", type=int, default=6)
    arguments.add_argument("--seed", type=int, default=3)
    given = arguments.parse_args()
    strangers = [json.loads(line) for line in given.passages.open()]
    names = sorted({name[0] for passage in strangers for line in passage["sentences"] for name in NAME.finditer(line) if " " not in name[0] and len(name[0]) > 3})
    rules = Rules(WordNet(given.wordnet), names, given.seed)
    chance = rules.random
    count = 0
    with given.out.open("w") as out:
        def write(kind, file, title, prose, claim, label, origin=""):
            nonlocal count
            count += 1
            out.write(json.dumps({"title": title, "passage": " ".join(prose), "claim": claim, "label": label, "kind": kind, "origin": f"{file.stem} {origin}"}, ensure_ascii=False) + "\n")

        known = {key_of(passage["sentences"]): passage["sentences"] for passage in strangers}
        for file in given.written:
            blocks = [block for block in read_written(file, known) if len(block[2]) > 1]
            for place, (title, prose, claims) in enumerate(blocks):
                # Sets with two marks only do not say whether a false claim is contradicted or unsaid.
                two = not any(label == "unsaid" for _, _, other in blocks for label, _ in other)
                claims = [("not" if two and label == "no" else label, claim) for label, claim in claims]
                for number, (label, claim) in enumerate(claims):
                    write("written", file, title, prose, claim, label, f"{place} {number}")
                lines = sentences_of(" ".join(prose))
                others = [{"sentences": sentences_of(" ".join(blocks[chance.randrange(len(blocks))][1]))} for _ in range(3)]
                for turn in range(given.rounds):
                    # Authors put true claims in other words and false ones in the passage's own: without these a model
                    # learns that what stands word for word on the page is false.
                    for label, claim in [*pairs_of(rules, {"sentences": lines}, others), *pairs_of(rules, {"sentences": lines}, others)]:
                        other, text, said = renamed(chance, names, title, prose, claim)
                        if chance.random() < 0.5:
                            text = [nearest(surrounded(chance, text, strangers, 330), said, chance.randint(90, 190))]
                        write("quoted", file, other, text, said, label)
                    for number, (label, claim) in enumerate(claims):
                        other, text, said = renamed(chance, names, title, prose, claim)
                        if chance.random() < 0.5:
                            text = surrounded(chance, text, strangers)
                        if label == "yes" and chance.random() < 0.3:
                            said = true_form(rules, said)
                        write("changed", file, other, text, said, label, f"{place} {number}")
                    if not two:
                        for _ in range(max(2, len(claims) // 3)):
                            made = joined(rules, lines, claims)
                            if made:
                                other, text, said = renamed(chance, names, title, prose, made[1])
                                write("joined", file, other, text, said, made[0])
                        for label, claim in written_pairs(rules, title, prose, [pair for pair in claims if pair[0] == "yes"]):
                            if label != "yes":
                                other, text, said = renamed(chance, names, title, prose, claim)
                                write("perturbed", file, other, text, said, label)
                    stranger = blocks[chance.randrange(len(blocks))]
                    if stranger[0] != title:
                        write("stranger", file, title, prose, chance.choice(stranger[2])[1], "unsaid")
    print(count, "pairs")


if __name__ == "__main__":
    main()
