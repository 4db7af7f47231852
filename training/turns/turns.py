"""Makes turns from the grammars in data/ and labels every word: could the speaker have finished here?

usage: python3 turns.py OUT.jsonl [--claims FOLDER] [--each N] [--open SHARE] [--seed N]

A grammar is a text file. `@name = a|b` defines a list, every other line is a template: `<name>` stands for an entry of
the list, `(a|b|)` for one of its alternatives, ` / ` for a place where the turn might as well be over (neither a
positive nor a negative, except for a share that is labelled by what follows: it goes on), ` ; ` for the end of a clause
after which it must go on. The first two letters of the file's name are the language.
"""
import argparse
import json
import pathlib
import random
import re
import unicodedata
import zlib

LANGUAGES = ("en", "es", "fr", "it", "pt")
WINDOW = 40
# Words with a vector of their own, by their line.
WORDS = "words.txt" if (pathlib.Path(__file__).parent / "words.txt").exists() else "../../apps/voice/models/end-of-turn/words.txt"
BUCKETS = 32768
FEATURES = 7
KNOWN = {word: place + 1 for place, word in enumerate((pathlib.Path(__file__).parent / WORDS).read_text().split())}
WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")
FILLERS = {
    "en": ["um", "uh", "er", "hmm", "erm", "you know", "i mean", "like", "well um"],
    "es": ["eh", "este", "em", "pues", "o sea", "mm"],
    "fr": ["euh", "ben", "hum", "enfin", "tu vois"],
    "it": ["ehm", "eh", "cioè", "mm", "diciamo"],
    "pt": ["hum", "é", "ahn", "tipo", "quer dizer", "pois"],
}
# After a whole sentence these announce another one.
CONNECTORS = {
    "en": ["and", "but", "so", "because", "or", "and then", "but then", "so that", "which", "although", "and maybe", "unless", "if", "when"],
    "es": ["y", "pero", "porque", "así que", "o", "y luego", "aunque", "pero si", "y entonces", "cuando", "si"],
    "fr": ["et", "mais", "parce que", "donc", "ou", "et puis", "mais si", "alors que", "quand", "si", "pour que"],
    "it": ["e", "ma", "perché", "quindi", "o", "e poi", "però", "anche se", "quando", "se"],
    "pt": ["e", "mas", "porque", "então", "ou", "e depois", "só que", "mas se", "quando", "se"],
}

# Words that begin something a sentence can do without: a cut before them is no negative in written sentences.
ADJUNCT = set("in on at by for from during and or but that which who when while because before after with without as since until though although than where if so through under over between among into onto about against despite unless per via only also too again".split())
FUNCTION = ADJUNCT | set("a an the this these those my your his her its our their of to is are was were be been being am has have had will would can could should may might must do does did not no any some every each both all more most very less such".split())


def words_in(text: str) -> list[str]:
    """Lower case, no punctuation. The service does the same (apps/voice/speech/ending/turn-model.ts)."""
    return WORD.findall(unicodedata.normalize("NFC", text).replace("’", "'").lower())


def bucket(text: str) -> int:
    """FNV-1a over UTF-8; 0 is kept for "nothing"."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return 1 + value % (BUCKETS - 1)


def features(word: str) -> list[int]:
    """The word, its beginning, its ends and its length. Figures count by their length alone."""
    known = "#" * len(word) if word.isdigit() else word
    return [bucket(text) for text in (f"w{known}", f"p{known[:3]}", f"2{known[-2:]}", f"3{known[-3:]}", f"4{known[-4:]}", f"n{min(len(known), 12)}")] + [KNOWN.get(plain(known), 0)]


def plain(word: str) -> str:
    """Without accents and what follows an apostrophe, as the words with vectors are written."""
    return "".join(letter for letter in unicodedata.normalize("NFD", word.split("'")[0]) if not unicodedata.combining(letter))


def encode(language: str, words: list[str]) -> list[list[int]]:
    """The language, then the last words."""
    return [features(f"<{language}>")] + [features(word) for word in words[-WINDOW:]]


class Grammar:
    def __init__(self, path: pathlib.Path) -> None:
        lines = [line.strip() for line in path.read_text().splitlines()]
        lines = [line for line in lines if line and not line.startswith("#")]
        self.language, self.author = path.name[:2], path.stem
        self.lists = {}
        for line in lines:
            if line.startswith("@"):
                name, entries = line[1:].split(" = ", 1)
                self.lists[name] = split(entries)
        self.templates = [line for line in lines if not line.startswith("@")]

    def expand(self, text: str, pick: random.Random) -> str:
        out, place = [], 0
        while place < len(text):
            if text[place] == "<":
                end = text.index(">", place)
                out.append(self.expand(pick.choice(self.lists[text[place + 1 : end]]), pick))
                place = end + 1
            elif text[place] == "(":
                end = closing(text, place)
                out.append(self.expand(pick.choice(split(text[place + 1 : end])), pick))
                place = end + 1
            else:
                out.append(text[place])
                place += 1
        return "".join(out)


def closing(text: str, start: int) -> int:
    depth = 0
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    raise ValueError(f"no closing bracket: {text}")


def split(text: str) -> list[str]:
    parts, depth = [""], 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "|" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def labelled(text: str) -> tuple[list[str], list[int]]:
    """Words, and for each: 0 the turn goes on, 1 it is over, -1 either."""
    words, labels = [], []
    for token in text.split():
        if token in ("/", ";"):
            if token == "/" and labels:
                labels[-1] = -1
            continue
        for word in words_in(token):
            words.append(word)
            labels.append(0)
    if labels:
        labels[-1] = 1
    return words, labels


def is_held_out(template: str) -> bool:
    return zlib.crc32(template.encode()) % 12 == 0


def written(folder: pathlib.Path) -> list[str]:
    """Sentences of the claim judge's authors."""
    lines = [line[2:].strip() for path in sorted(folder.glob("author-*.txt")) for line in path.read_text().splitlines() if line[:2] in ("+ ", "- ", "? ")]
    return sorted({line for line in lines if 4 <= len(line.split()) <= 30})


def spoil(words: list[str], labels: list[int], vocabulary: list[str], others: dict[str, list[str]], language: str, pick: random.Random) -> None:
    """Fillers, repeated words, and the errors of a recogniser."""
    if pick.random() < 0.18 and len(words) > 2:
        place = pick.randrange(0, len(words))
        filler = pick.choice(FILLERS[language]).split()
        words[place:place] = filler
        labels[place:place] = [0] * len(filler)
        if place > 0 and labels[place - 1] == 1:
            labels[place - 1] = -1
    if pick.random() < 0.06 and len(words) > 3:
        place = pick.randrange(0, len(words) - 1)
        words.insert(place, words[place])
        labels.insert(place, 0)
    if pick.random() < 0.12 and len(words) > 4:
        place = pick.randrange(0, len(words) - 2)
        kind = pick.randrange(3)
        if kind == 0:
            words[place] = pick.choice(vocabulary)
        elif kind == 1:
            del words[place], labels[place]
        else:
            words[place] = words[place][: max(1, len(words[place]) - 1)]
    # Other words of the same kind of ending: the syntax must carry the judgement.
    if pick.random() < 0.6:
        for place, word in enumerate(words):
            if word in others and pick.random() < 0.4:
                words[place] = pick.choice(others[word])
    for place, word in enumerate(words):
        if "'" in word and pick.random() < 0.1:
            words[place] = word.replace("'", "")


def replacements(turns: list[dict], language: str) -> dict[str, list[str]]:
    """For words that few templates use: those that end alike."""
    used = {}
    for turn in turns:
        if turn["language"] == language:
            for word in turn["words"]:
                used.setdefault(word, set()).add(turn["template"])
    rare = sorted(word for word, templates in used.items() if len(word) > 3 and not word.isdigit() and "'" not in word and len(templates) < (60 if language == "en" else 6))
    alike = {}
    for word in rare:
        alike.setdefault(word[-2:], []).append(word)
    return {word: alike[word[-2:]] for word in rare if len(alike[word[-2:]]) > 3}


def make(data: pathlib.Path, claims: pathlib.Path | None, each: int, seed: int, goes_on: float = 0.0) -> list[dict]:
    pick = random.Random(seed)
    chance_of = random.Random(seed + 1)
    either = lambda: 0 if chance_of.random() < goes_on else -1
    turns = []
    for grammar in [Grammar(path) for path in sorted(data.glob("??-*.txt"))]:
        for place, template in enumerate(grammar.templates):
            made = {grammar.expand(template, pick) for _ in range(each)}
            for text in sorted(made):
                words, labels = labelled(text)
                labels = [either() if label == -1 and grammar.language == "en" else label for label in labels]
                if words:
                    turns.append({"language": grammar.language, "author": grammar.author, "template": f"{grammar.author} {place}", "held": is_held_out(template), "words": words, "labels": labels})
    count = len(turns)
    for sentence in written(claims) if claims else []:
        words, labels = labelled(sentence)
        for place in range(3, len(words) - 1):
            if words[place + 1] in ADJUNCT and words[place] not in FUNCTION:
                labels[place] = either()
        if words:
            turns.append({"language": "en", "author": "claims", "template": sentence, "held": is_held_out(sentence), "words": words, "labels": labels})
    print(f"{count} turns from the grammars, {len(turns) - count} sentences of the claim judge's authors")
    whole = {(turn["language"], " ".join(turn["words"])) for turn in turns}
    vocabulary = {language: sorted({word for turn in turns if turn["language"] == language for word in turn["words"]}) for language in LANGUAGES}
    others = {language: replacements(turns, language) for language in LANGUAGES}
    by_language = {language: [turn for turn in turns if turn["language"] == language and not turn["held"]] for language in LANGUAGES}
    for turn in turns:
        # What others said as a whole turn is no negative.
        for place in range(1, len(turn["words"])):
            if turn["labels"][place - 1] == 0 and (turn["language"], " ".join(turn["words"][:place])) in whole:
                turn["labels"][place - 1] = either() if turn["language"] == "en" else -1
    out = []
    for turn in turns:
        if turn["held"]:
            out.append(turn)
            continue
        words, labels = list(turn["words"]), list(turn["labels"])
        chance = pick.random()
        if chance < 0.12:
            before = pick.choice(by_language[turn["language"]])
            words, labels = before["words"] + words, before["labels"] + labels
        elif chance < 0.24:
            joint = pick.choice(CONNECTORS[turn["language"]]).split()
            after = pick.choice(by_language[turn["language"]])
            words, labels = words + joint + after["words"], labels[:-1] + [-1] + [0] * len(joint) + after["labels"]
        elif chance < 0.29:
            filler = pick.choice(FILLERS[turn["language"]]).split()
            words, labels = words + filler, labels[:-1] + [-1] + [0] * len(filler)
        spoil(words, labels, vocabulary[turn["language"]], others[turn["language"]], turn["language"], pick)
        out.append({**turn, "words": words, "labels": labels})
    return out


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--claims", type=pathlib.Path)
    parser.add_argument("--each", type=int, default=130)
    parser.add_argument("--open", type=float, default=0.4, help="share of places after a whole clause, in English, that are labelled by what follows")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    turns = make(pathlib.Path(__file__).parent / "data", given.claims, given.each, given.seed, given.open)
    with given.out.open("w") as file:
        for turn in turns:
            file.write(json.dumps(turn, ensure_ascii=False) + "\n")
    for language in LANGUAGES:
        print(language, sum(turn["language"] == language for turn in turns))


if __name__ == "__main__":
    main()
