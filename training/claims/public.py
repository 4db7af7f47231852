"""Turns public sets of claims that people wrote and judged into pairs, as augment.py makes them of our authors' files.

usage: python3 public.py MIRRORS OUT.jsonl [--around N] [--seed N]

MIRRORS holds clones, each in a folder OWNER+NAME (see SETS). Nothing of them is committed: clone them, convert, train. Files
that a clone lacks are skipped and named. --around adds N of ten short premises again, among those of other pairs of their
set, so that the passage is as long as a page's; the label stays. Prints how many pairs came of each set.
"""
import argparse
import collections
import csv
import io
import json
import pathlib
import random
import re
import subprocess
import zipfile

THREE = {"entailment": "yes", "contradiction": "no", "neutral": "unsaid", "e": "yes", "c": "no", "n": "unsaid", "E": "yes", "C": "no", "N": "unsaid",
         "SUPPORTS": "yes", "REFUTES": "no", "True": "yes", "False": "no", "Unknown": "unsaid", "Uncertain": "unsaid"}
TWO = {"entailment": "yes", "not_entailment": "not", "Fully attributable": "yes", "Not fully attributable": "not"}
# Penn Treebank's signs, as people write them.
SIGNS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "``": '"', "''": '"', " -- ": " – "}


def plain(text: str) -> str:
    for sign, written in SIGNS.items():
        text = text.replace(sign, written)
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"([(\[]) | (?=[,.;:!?)\]]|'s\b|n't\b)", r"\1", text)


class Mirror:
    def __init__(self, folder: pathlib.Path) -> None:
        self.git = next((place for place in (folder / "repo" / ".git", folder / "repo", folder / ".git") if place.exists()), folder)

    def read(self, path: str) -> bytes:
        return subprocess.run(["git", "-C", str(self.git), "show", f"HEAD:{path}"], capture_output=True, check=True).stdout

    def all(self, folder: str) -> dict[str, bytes]:
        """Every file of a folder, by name."""
        packed = subprocess.run(["git", "-C", str(self.git), "archive", "--format=zip", "-0", "HEAD", folder], capture_output=True, check=True).stdout
        archive = zipfile.ZipFile(io.BytesIO(packed))
        return {pathlib.PurePath(name).name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def lines_of(data: bytes) -> list[dict]:
    return [json.loads(line) for line in data.decode().splitlines() if line.strip()]


def rows_of(data: bytes) -> list[dict]:
    return list(csv.DictReader(io.StringIO(data.decode("utf-8-sig")), delimiter="\t", quoting=csv.QUOTE_NONE))


def fool_me_twice(mirror, path):
    """Claims that players wrote to mislead others, with the sentences of Wikipedia that settle them, and others of the page."""
    for row in lines_of(mirror.read(path)):
        gold = [each["text"] for each in row["gold_evidence"]]
        more = [each["text"] for each in row["retrieved_evidence"] if each["text"] not in gold]
        yield row["wikipedia_page"], " ".join(gold), row["text"], THREE[row["label"]]
        chance = random.Random(row["id"])
        mixed = gold + chance.sample(more, min(len(more), 4))
        chance.shuffle(mixed)
        yield row["wikipedia_page"], " ".join(mixed), row["text"], THREE[row["label"]]
        if row["label"] == "REFUTES" and len(more) > 3:
            yield row["wikipedia_page"], " ".join(more[:5]), row["text"], "not"


def tabbed(mirror, path):
    """label, premise, hypothesis; two labels."""
    for line in mirror.read(path).decode().splitlines():
        label, premise, claim = line.split("\t")
        yield "", premise, claim, TWO[label]


def snli(mirror, path):
    for half in (".dev", ".test"):
        columns = [mirror.read(path + name + half).decode().splitlines() for name in ("s1", "s2", "labels")]
        yield from (("", premise, claim, THREE[label.strip()]) for premise, claim, label in zip(*columns) if label.strip() in THREE)


def table_of(data: bytes) -> tuple[str, str]:
    fields = json.loads(data)
    title = " ".join(fields.pop("title", [""]))
    return title, ". ".join(f"{name}: {', '.join(values)}" for name, values in fields.items()) + "."


def infotabs(mirror, path):
    tables = {name.removesuffix(".json"): table_of(data) for name, data in mirror.all("data/tables/json").items()}
    for row in rows_of(mirror.read(path)):
        yield *tables[row["table_id"]], row["hypothesis"], THREE[row["label"]]


def columns(premise, claim, label, read=rows_of, labels=THREE):
    def pairs(mirror, path):
        for row in read(mirror.read(path)):
            found = labels.get((row.get(label) or "").strip())
            if found and row[premise] and row[claim]:
                yield "", " ".join(row[premise]) if isinstance(row[premise], list) else row[premise], row[claim], found
    return pairs


def zipped(mirror, path):
    archive = zipfile.ZipFile(io.BytesIO(mirror.read(path)))
    for row in lines_of(archive.read("data/dataset.jsonl")):
        yield "", row["sentence1"], row["sentence2"], THREE[row["gold_label"]]


SPLITS = ("train", "dev", "test")
WIKI_NLI = [f"data/{part}_wiki/{split}.jsonl" for part in ("base", "sim", "translate") for split in ("train", "test")]
# name: repository, licence of the data, reader, files
SETS = {
    "fool-me-twice": ("google-research+fool-me-twice", "Apache-2.0; Wikipedia CC BY-SA", fool_me_twice, ["dataset/train.jsonl", "dataset/dev.jsonl", "dataset/test.jsonl"]),
    "fever": ("salesforce+DocNLI", "CC BY-SA 3.0", tabbed, [f"Data/binary-FEVER-NLI/{split}.txt" for split in SPLITS]),
    "multinli": ("salesforce+DocNLI", "OANC, CC BY, CC BY-SA", tabbed, [f"Data/binary-MNLI/{split}.txt" for split in SPLITS]),
    "snli": ("OanaMariaCamburu+e-SNLI", "CC BY-SA 4.0", snli, ["dataset/eSNLI/"]),
    "counterfactual": ("acmi-lab+counterfactually-augmented-data", "Apache-2.0", columns("sentence1", "sentence2", "gold_label"), [f"NLI/all_combined/{split}.tsv" for split in SPLITS]),
    "infotabs": ("infotabs+infotabs", "Apache-2.0", infotabs, [f"data/maindata/infotabs_{part}.tsv" for part in ("train", "dev", "test_alpha1", "test_alpha2", "test_alpha3")]),
    "fever-symmetric": ("TalSchuster+FeverSymmetric", "CC BY-SA 3.0", columns("evidence", "claim", "label", lines_of), [f"symmetric_v0.2/fever_symmetric_{split}.jsonl" for split in ("dev", "test")]),
    "conjnli": ("swarnaHub+ConjNLI", "MIT", columns("Premise", "Hypothesis", "Label"), ["data/NLI/adversarial_train_15k.tsv", "data/NLI/conj_dev.tsv", "data/NLI/conj_test.tsv"]),
    "wiki-nli": ("nyu-mll+semi-automatic-nli", "CC BY-SA 3.0 (parts of Wikipedia)", columns("premise", "hypothesis", "label", lines_of), WIKI_NLI),
    "folio": ("Yale-LILY+FOLIO", "CC BY-SA 4.0", columns("premises", "conclusion", "label", lines_of), ["data/v0.0/folio-train.jsonl", "data/v0.0/folio-validation.jsonl"]),
    "begin": ("google+BEGIN-dataset", "CC BY 4.0 (parts wow and cmu-dog)", columns("knowledge", "response", "begin_label", labels=TWO), ["wow/begin_dev_wow.tsv", "wow/begin_test_wow.tsv", "cmu-dog/begin_dev_cmu.tsv"]),
    "breaking-nli": ("BIU-NLP+Breaking_NLI", "CC BY-SA 4.0", zipped, ["breaking_nli_dataset.zip"]),
    "monotonicity": ("verypluming+MED", "CC BY-SA 4.0", columns("sentence1", "sentence2", "gold_label"), ["MED.tsv"]),
}


def surrounded(chance: random.Random, pair: dict, others: list[dict]) -> dict:
    """The premise among those of other pairs of its set, up to the length of a page's passage."""
    most, lines = chance.randint(40, 150), [pair["passage"]]
    for other in chance.sample(others, min(6, len(others))):
        if other["passage"] != pair["passage"] and sum(len(line.split()) for line in lines) + len(other["passage"].split()) < most:
            lines.insert(chance.randint(0, len(lines)), other["passage"])
    return {**pair, "passage": " ".join(lines)}


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("mirrors", type=pathlib.Path)
    arguments.add_argument("out", type=pathlib.Path)
    arguments.add_argument("--around", type=int, default=0)
    arguments.add_argument("--seed", type=int, default=5)
    given = arguments.parse_args()
    chance = random.Random(given.seed)
    counts = collections.Counter()
    with given.out.open("w") as out:
        for name, (folder, _, read, paths) in SETS.items():
            mirror, pairs, known = Mirror(given.mirrors / folder), [], set()
            for path in paths:
                try:
                    found = list(read(mirror, path))
                except subprocess.CalledProcessError:
                    print(name, "lacks", path)
                    continue
                for place, (title, passage, claim, label) in enumerate(found):
                    pair = {"title": title, "passage": plain(passage), "claim": plain(claim), "label": label, "kind": "public", "origin": f"{name} {pathlib.PurePath(path).stem} {place}"}
                    if (pair["passage"], pair["claim"]) not in known:
                        known.add((pair["passage"], pair["claim"]))
                        pairs.append(pair)
            for pair in pairs:
                is_short = not pair["title"] and len(pair["passage"].split()) < 60
                out.write(json.dumps(pair, ensure_ascii=False) + "\n")
                if is_short and chance.random() < given.around / 10:
                    out.write(json.dumps(surrounded(chance, pair, pairs), ensure_ascii=False) + "\n")
                counts[name, pair["label"]] += 1
    for name in SETS:
        print(name, {label: counts[name, label] for label in ("yes", "no", "unsaid", "not") if counts[name, label]})
    print(sum(counts.values()), "pairs")


if __name__ == "__main__":
    main()
