"""Makes pairs of a passage and a claim by program: "yes" (borne out), "no" (contradicted), "unsaid".

usage: python3 perturb.py PASSAGES.jsonl WORDNET_FOLDER OUT.jsonl [--seed N] [--rounds N]

Each rule takes a sentence of the passage and returns a claim, or nothing where it does not apply. What authors wrote
(data/*.txt) goes through the same rules: their true claims are perturbed too, so that a changed figure in a paraphrase
is as well known as one in a quotation.
"""
import argparse
import hashlib
import json
import pathlib
import random
import re

from wordnet import WordNet

NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w,])|(?<![\w.,/:-])\d+(?:\.\d+)?(?![\w.,/:-]*\d)(?!\w)")
YEAR = re.compile(r"\b(1[5-9]\d\d|20[0-4]\d)\b")
MONTHS = "January February March April May June July August September October November December".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
SMALL = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split()
NAME = re.compile(r"(?<![.!?:] )(?<!^)\b[A-Z][a-z]{2,}(?:[ -][A-Z][a-z]{2,})*\b")

UNITS = [["kilometres", "miles", "metres"], ["km", "miles", "m"], ["metres", "feet", "centimetres"], ["percent", "per thousand"],
         ["million", "billion", "thousand"], ["hours", "days", "minutes"], ["days", "weeks", "months"], ["months", "years", "weeks"],
         ["years", "months", "decades"], ["tonnes", "kilograms"], ["MB", "GB", "KB"], ["bytes", "bits", "kilobytes"],
         ["seconds", "minutes", "milliseconds"], ["sq km", "sq miles", "hectares"], ["dollars", "euros", "pounds"]]
OPPOSED = [["more", "less"], ["more", "fewer"], ["increase", "decrease"], ["increased", "decreased"], ["increasing", "decreasing"], ["rose", "fell"],
           ["higher", "lower"], ["largest", "smallest"], ["highest", "lowest"], ["larger", "smaller"], ["greater", "lesser"], ["before", "after"],
           ["first", "last"], ["always", "never"], ["all", "none"], ["north", "south"], ["northern", "southern"], ["east", "west"],
           ["eastern", "western"], ["above", "below"], ["older", "newer"], ["oldest", "newest"], ["early", "late"], ["earlier", "later"],
           ["with", "without"], ["most", "few"], ["best", "worst"], ["better", "worse"], ["faster", "slower"], ["strong", "weak"], ["import", "export"],
           ["imports", "exports"], ["allow", "forbid"], ["allowed", "forbidden"], ["allows", "prevents"], ["won", "lost"], ["gained", "lost"],
           ["enabled", "disabled"], ["required", "optional"], ["mandatory", "optional"], ["possible", "impossible"], ["public", "private"],
           ["major", "minor"], ["easy", "hard"], ["long", "short"], ["rich", "poor"], ["accepted", "rejected"], ["stable", "unstable"], ["begin", "end"],
           ["began", "ended"], ["maximum", "minimum"], ["at least", "at most"], ["upper", "lower"], ["inside", "outside"], ["install", "remove"],
           ["installed", "removed"], ["create", "delete"], ["created", "deleted"], ["open", "closed"], ["opened", "closed"], ["success", "failure"],
           ["successful", "failed"], ["majority", "minority"], ["same", "different"], ["growth", "decline"], ["grew", "shrank"], ["male", "female"],
           ["rural", "urban"], ["approve", "reject"], ["approved", "rejected"], ["join", "leave"], ["joined", "left"], ["including", "excluding"]]
OPPOSITE = {}
for left, right in OPPOSED:
    OPPOSITE.setdefault(left, []).append(right)
    OPPOSITE.setdefault(right, []).append(left)
EQUAL = [["approximately", "about", "roughly", "some"], ["percent", "per cent", "%"], ["begin", "start"], ["began", "started"], ["ended", "came to an end"],
         ["in order to", "to"], ["because of", "due to", "owing to"], ["although", "even though", "though"], ["however", "but"], ["large", "big"],
         ["buy", "purchase"], ["use", "employ", "make use of"], ["used", "employed"], ["help", "aid", "assist"], ["get", "obtain"], ["make", "create", "produce"],
         ["show", "indicate", "demonstrate"], ["shows", "indicates"], ["needs", "requires"], ["need", "require"], ["must", "has to", "needs to"],
         ["can", "is able to"], ["sometimes", "at times", "occasionally"], ["often", "frequently"], ["usually", "as a rule", "normally"],
         ["many", "a lot of", "numerous"], ["several", "a number of"], ["largest", "biggest"], ["whole", "entire"], ["allows", "lets", "permits"],
         ["provides", "offers", "supplies"], ["provide", "offer", "supply"], ["includes", "contains", "comprises"], ["remains", "is still", "stays"],
         ["has declined", "has fallen"], ["increased", "rose", "went up", "grew"], ["decreased", "fell", "went down", "dropped"], ["won", "gained"],
         ["founded", "established", "set up"], ["built", "constructed"], ["destroyed", "wrecked"], ["died", "passed away"], ["said", "stated"],
         ["dominated by", "ruled by"], ["led by", "headed by"], ["located in", "situated in"], ["consists of", "is made up of"], ["such as", "like", "for example"],
         ["also", "in addition", "as well"], ["only", "just", "solely"], ["main", "chief", "principal", "primary"], ["important", "significant"],
         ["country", "nation"], ["area", "region"], ["independence", "sovereignty"], ["reduce", "lower", "cut"], ["reduced", "lowered", "cut"],
         ["the following", "these"], ["nearly", "almost"], ["more than", "over", "above"], ["less than", "under", "below"], ["at least", "no fewer than"],
         ["former", "previous", "ex-"], ["poverty", "being poor"], ["oil", "petroleum"], ["elections", "polls"], ["install", "set up"], ["default", "standard"],
         ["automatically", "by itself", "on its own"], ["directory", "folder"], ["user", "person"], ["delete", "remove", "erase"], ["display", "show"]]
SAME = {}
for group in EQUAL:
    for word in group:
        SAME.setdefault(word, []).extend(other for other in group if other != word)
HEDGES = re.compile(r"\b(may|might|could|probably|possibly|perhaps|likely|reportedly|apparently|is expected to|are expected to|was expected to|is said to|are said to|is believed to|is thought to|estimated to|seems to|appears to|suggests that|hopes? to|plans? to|aims? to|intends? to|is planned to|has proposed to)\b")
CERTAIN = {"may": "will", "might": "will", "could": "can", "is expected to": "will", "are expected to": "will", "was expected to": "did", "is said to": "is known to",
           "are said to": "are known to", "is believed to": "is known to", "is thought to": "is known to", "estimated to": "shown to", "seems to": "is proven to",
           "appears to": "is proven to", "suggests that": "proves that", "hope to": "managed to", "hopes to": "managed to", "plan to": "managed to",
           "plans to": "managed to", "aims to": "manages to", "aim to": "manage to", "intends to": "managed to", "intend to": "managed to",
           "is planned to": "did", "has proposed to": "has decided to"}
SHARES = {"some": "all", "many": "all", "most": "all", "several": "all", "a few": "most", "few": "many", "often": "always", "sometimes": "always", "usually": "always",
          "generally": "always", "partly": "entirely", "mainly": "only", "mostly": "only", "largely": "entirely", "nearly all": "all", "almost": "fully", "rarely": "never",
          "primarily": "exclusively", "in some cases": "in every case", "typically": "always", "one of the": "the only one of the"}
AUXILIARY = re.compile(r"\b(is|are|was|were|has|have|had|can|could|will|would|should|must|may|might|does|do|did)\b(?! not|n't)")
CAUSE = re.compile(r"\b(because of|because|due to|owing to|as a result of|thanks to|caused by|led to|leads to|resulted in|results in)\b")


class Rules:
    def __init__(self, wordnet: WordNet, names: list[str], seed: int) -> None:
        self.net, self.names, self.random = wordnet, names, random.Random(seed)

    # Claims that stay true.

    def plain(self, text: str):
        text = re.sub(r"^(However|Moreover|Furthermore|In addition|Also|Thus|Therefore|Indeed|For example|For instance|Nevertheless|Besides|Finally|Note that|Of course|In fact|Then|So|But|And),?\s+", "", text)
        text = re.sub(r"\s*\([^()]*\)", "", text)
        return text[:1].upper() + text[1:]

    def shortened(self, text: str):
        choices = []
        for mark in re.finditer(r"[;:]\s|,\s(?=(?:and|but|while|although|whereas|so|who|which|where|because|since|including|such as|with|resulting|leading|making|after|before|as)\b)|\s-\s", text):
            head = text[:mark.start()].strip()
            if len(head.split()) >= 6 and not head.startswith(("If ", "When ", "Although ", "While ", "Unless ", "Though ", "Because ", "Since ", "Once ", "To ")):
                choices.append(head + ".")
        for mark in re.finditer(r", (?:who|which|where|including|such as|formerly|known as)\b[^,;.]*,", text):
            choices.append(text[:mark.start()] + text[mark.end():])
        return self.random.choice(choices) if choices else None

    def tail(self, text: str):
        found = re.search(r"(?:;|, (?:and|but|while|whereas))\s+((?:the|a|an|its|their|it|they|he|she|this|these|there|most|some|many|all|[A-Z])\b.*)$", text)
        if not found or len(found[1].split()) < 6:
            return None
        return found[1][0].upper() + found[1][1:]

    def moved(self, text: str):
        found = re.match(r"((?:In|Since|Until|By|After|Before|During|On|From|At|Under|Despite|With) [^,]{3,60}), ([^,;]{20,}?)\.?$", text)
        if not found:
            return None
        head = found[1][0].lower() + found[1][1:]
        rest = found[2]
        rest = rest if re.match(r"[A-Z]{2}|I ", rest) else rest[0].upper() + rest[1:]
        return f"{rest} {head}."

    def renamed(self, text: str):
        """One to four words replaced by others of the same meaning."""
        words, changed = re.split(r"(\W+)", text), 0
        places = [place for place, word in enumerate(words) if word.islower() and len(word) > 3]
        self.random.shuffle(places)
        for place in places:
            word = words[place]
            others = list(SAME.get(word, []))
            if not others:
                kind = "adj" if self.net.senses[word, "adj"] else "noun" if self.net.senses[word, "noun"] and not self.net.senses[word, "verb"] else None
                others = self.net.synonyms(word, kind) if kind else []
            if others:
                words[place] = self.random.choice(others)
                changed += 1
            if changed >= self.random.randint(1, 4):
                break
        return "".join(words) if changed else None

    def phrase(self, text: str):
        choices = [(word, other) for word in SAME if re.search(rf"\b{re.escape(word)}\b", text) for other in SAME[word]]
        if not choices:
            return None
        word, other = self.random.choice(choices)
        return re.sub(rf"\b{re.escape(word)}\b", other, text, count=1)

    def rounded(self, text: str):
        numbers = [found for found in NUMBER.finditer(text) if not YEAR.fullmatch(found[0])]
        if not numbers:
            return None
        found = self.random.choice(numbers)
        value = float(found[0].replace(",", ""))
        before = text[:found.start()]
        if re.search(r"(about|around|over|under|than|nearly|almost|roughly|approximately|version|chapter|port|section|some|least|most|\$)\s*$", before, re.I):
            return None
        percent = re.match(r"\s?(%|percent|per cent)", text[found.end():])
        if percent and self.random.random() < 0.5:
            rest = text[found.end() + percent.end():]
            shares = [(50.5, 100, "more than half"), (0.1, 49.5, "less than half"), (75, 99.9, "over three quarters"), (0.1, 24.9, "under a quarter"), (33.5, 99, "more than a third"), (30, 36, "about a third"), (23, 27, "about a quarter"), (48, 52, "about half"), (64, 69, "about two thirds")]
            fitting = [words for low, high, words in shares if low <= value <= high]
            if fitting:
                return before + self.random.choice(fitting) + rest
        if value < 13 or value != int(value):
            if value == int(value) and 0 <= value <= 20 and not percent:
                return before + SMALL[int(value)] + text[found.end():]
            return None
        digits = len(str(int(value)))
        step = 10 ** (digits - self.random.choice([1, 2]) if digits > 1 else 0)
        near = round(value / step) * step
        if abs(near - value) / value > 0.06 or near == value:
            lower = int(value // step * step)
            if lower in (0, value):
                return None
            return f"{before}{self.random.choice(['more than', 'over', 'at least'])} {lower:,}{text[found.end():]}"
        if near >= 2_000_000 and self.random.random() < 0.7:
            shown = f"{near / 1e6:g} million" if near < 1e9 else f"{near / 1e9:g} billion"
        else:
            shown = f"{int(near):,}"
        return f"{before}{self.random.choice(['about', 'roughly', 'around', 'some', 'approximately'])} {shown}{text[found.end():]}"

    def rewritten(self, text: str):
        """The same figure or date in another form."""
        found = re.search(r"\b(\d{1,2}) (" + "|".join(MONTHS) + r") (\d{4})\b", text)
        if found:
            form = self.random.choice([f"{found[2]} {found[1]}, {found[3]}", f"{found[2]} {found[3]}", found[3]])
            return text[:found.start()] + form + text[found.end():]
        found = re.search(r"\b(" + "|".join(MONTHS) + r") (\d{4})\b", text)
        if found:
            return text[:found.start()] + found[2] + text[found.end():]
        for place, word in enumerate(SMALL):
            if place > 1 and re.search(rf"\b{word}\b", text):
                return re.sub(rf"\b{word}\b", str(place), text, count=1)
        found = re.search(r"\b(\d{1,3}),(\d{3}),(\d)(\d\d)\b", text)
        if found:
            return f"{text[:found.start()]}{int(found[1] + found[2]) / 1000:g} million{text[found.end():]}" if found[2] != "000" else None
        return None

    def broadened(self, text: str):
        words = re.split(r"(\W+)", text)
        places = [place for place, word in enumerate(words) if word.islower() and len(word) > 4 and self.net.senses[word, "noun"] == 1 and not self.net.senses[word, "verb"] and not self.net.senses[word, "adj"]]
        self.random.shuffle(places)
        for place in places:
            others = self.net.broader(words[place])
            if others and not re.search(r"\b(all|every|no|not|never|only|without)\b", text):
                words[place] = others[0]
                return "".join(words)
        return None

    # Claims that are false or are not said.

    def figure(self, text: str):
        numbers = list(NUMBER.finditer(text))
        if not numbers:
            for place, word in enumerate(SMALL):
                if place > 1 and re.search(rf"\b{word}\b", text):
                    return re.sub(rf"\b{word}\b", self.random.choice([other for other in SMALL[2:13] if other != word]), text, count=1)
            return None
        found = self.random.choice(numbers)
        shown = found[0]
        if YEAR.fullmatch(shown):
            other = str(int(shown) + self.random.choice([-30, -20, -12, -10, -9, -7, -5, -4, -3, -2, -1, 1, 2, 3, 4, 5, 6, 8, 10, 11, 20]))
        else:
            value = float(shown.replace(",", ""))
            changed = self.random.choice([value * 10, value / 10, value * 2, value * 1.5, value * 0.7, value + 1, value + 2, max(0, value - 1), value * 1.2, value * 3])
            decimals = len(shown.split(".")[1]) if "." in shown else 0
            other = f"{changed:,.{decimals}f}" if "," in shown or changed >= 10000 else f"{changed:.{decimals}f}"
            if self.random.random() < 0.25 and len(shown) > 1:
                digits = list(shown)
                places = [place for place, digit in enumerate(digits) if digit.isdigit() and place > 0]
                if places:
                    place = self.random.choice(places)
                    digits[place] = self.random.choice([digit for digit in "0123456789" if digit != digits[place]])
                    other = "".join(digits)
        return None if other == shown else text[:found.start()] + other + text[found.end():]

    def unit(self, text: str):
        choices = [(word, other) for group in UNITS for word in group[:1] for other in group[1:] if re.search(rf"\d\s*{word}\b", text)]
        if not choices:
            return None
        word, other = self.random.choice(choices)
        return re.sub(rf"(\d\s*){word}\b", rf"\g<1>{other}", text, count=1)

    def calendar(self, text: str):
        for words in (MONTHS, DAYS):
            present = [word for word in words if re.search(rf"\b{word}\b", text) and word != "May"]
            if present:
                word = self.random.choice(present)
                return re.sub(rf"\b{word}\b", self.random.choice([other for other in words if other != word]), text, count=1)
        return None

    def name(self, text: str, passage: str):
        present = [found for found in NAME.finditer(text)]
        if not present:
            return None
        found = self.random.choice(present)
        inside = [other[0] for other in NAME.finditer(passage) if other[0] not in text and found[0] not in other[0]]
        pool = inside if inside and self.random.random() < 0.6 else self.random.sample(self.names, 5)
        pool = [other for other in pool if other != found[0]]
        return text[:found.start()] + self.random.choice(pool) + text[found.end():] if pool else None

    def swapped(self, text: str):
        present = [found for found in NAME.finditer(text)]
        if len(present) < 2 or re.search(r"\b(and|or|,)\s*$", text[present[0].end():present[1].start()]) or re.fullmatch(r"\s*(and|or|,|,? and)\s*", text[present[0].end():present[1].start()]):
            return None
        left, right = present[0], present[-1]
        if left[0] == right[0] or re.search(r"[,]", text[left.end():right.start()]):
            return None
        return text[:left.start()] + right[0] + text[left.end():right.start()] + left[0] + text[right.end():]

    def negated(self, text: str):
        if re.search(r"\bnot\b|n't\b", text):
            return re.sub(r"\b(do|does|did) not\b|\s?\bnot\b(?! only)|n't\b", "", text, count=1).replace("  ", " ")
        found = AUXILIARY.search(text)
        if not found:
            return None
        return f"{text[:found.end()]} {self.random.choice(['not', 'not', 'never', 'no longer'])}{text[found.end():]}"

    def opposite(self, text: str):
        choices = [(word, other) for word in OPPOSITE if re.search(rf"\b{word}\b", text) for other in OPPOSITE[word]]
        if not choices or self.random.random() < 0.4:
            for word in self.random.sample(text.split(), len(text.split())):
                for kind in ("adj", "verb", "adv"):
                    others = self.net.opposites(word, kind) if word.islower() and len(word) > 3 else []
                    if others:
                        return re.sub(rf"\b{re.escape(word)}\b", self.random.choice(others), text, count=1)
        if not choices:
            return None
        word, other = self.random.choice(choices)
        return re.sub(rf"\b{word}\b", other, text, count=1)

    def assured(self, text: str):
        found = HEDGES.search(text)
        if not found:
            return None
        return re.sub(r"\s+", " ", text[:found.start()] + CERTAIN.get(found[0], "") + text[found.end():])

    def widened(self, text: str):
        present = [word for word in SHARES if re.search(rf"\b{word}\b", text, re.I)]
        if not present:
            return None
        word = self.random.choice(present)
        return re.sub(rf"\b{word}\b", SHARES[word], text, count=1, flags=re.I)[:1].upper() + re.sub(rf"\b{word}\b", SHARES[word], text, count=1, flags=re.I)[1:]

    def sibling(self, text: str):
        words = re.split(r"(\W+)", text)
        places = [place for place, word in enumerate(words) if word.islower() and len(word) > 3 and 0 < self.net.senses[word, "noun"] <= 2 and not self.net.senses[word, "verb"]]
        self.random.shuffle(places)
        for place in places:
            others = [other for other in self.net.siblings(words[place]) if other.islower()] or self.net.narrower(words[place])
            if others:
                words[place] = self.random.choice(others)
                return "".join(words)
        return None

    def invented_cause(self, text: str, other: str):
        if CAUSE.search(text):
            return None
        head, tail = text.rstrip(". "), other.rstrip(". ")
        tail = tail if re.match(r"[A-Z]{2}|[A-Z]\w+ [A-Z]", tail) else tail[:1].lower() + tail[1:]
        return f"{head} {self.random.choice(['because', 'so that', 'after', 'even though', 'before', 'only when'])} {tail}."

    def reversed_cause(self, text: str):
        found = re.match(r"(.{15,}?),? (because|after|before|since) ([^,;]{15,}?)\.?$", text)
        if not found or found[2] == "since":
            return None
        head, tail = found[1], found[3]
        return f"{tail[:1].upper()}{tail[1:]} {found[2]} {head[:1].lower() if not re.match(r'[A-Z]{2}', head) else head[:1]}{head[1:]}."


TRUE = ("plain", "shortened", "tail", "moved", "renamed", "phrase", "rounded", "rewritten", "broadened")
FALSE = ("figure", "unit", "calendar", "swapped", "negated", "opposite", "reversed_cause")
UNSAID = ("assured", "widened", "sibling")


def true_form(rules: Rules, text: str) -> str:
    """A sentence put in other words by one to four rules that keep it true."""
    for name in rules.random.sample(TRUE, rules.random.choice([1, 2, 3, 4])):
        text = getattr(rules, name)(text) or text
    return text


def written_pairs(rules: Rules, title: str, lines: list[str], claims: list[tuple[str, str]]):
    """What an author wrote, and the author's true claims changed by the rules."""
    yield from claims
    for label, claim in claims:
        if label != "yes":
            continue
        yield "yes", true_form(rules, claim)
        for name in rules.random.sample(FALSE + UNSAID + ("name",), 4):
            changed = rules.name(claim, " ".join(lines)) if name == "name" else getattr(rules, name)(claim)
            if changed and changed != claim:
                yield ("unsaid" if name in UNSAID else "no"), changed
                break


MARKS = {"+": "yes", "-": "no", "?": "unsaid"}


def key_of(sentences: list[str]) -> str:
    return hashlib.sha256(" ".join(" ".join(sentences).split()).encode()).hexdigest()[:12]


def read_written(file: pathlib.Path, passages: dict[str, list[str]] | None = None):
    """Passages with claims: `# title`, paragraphs, then lines that begin with + (borne out), - (not so) or ? (not said).

    A passage of Debian's documentation or the Factbook stands as `= key`; `passages` (by key_of) has its text.
    """
    for block in re.split(r"^# ", file.read_text(), flags=re.M)[1:]:
        title, _, body = block.partition("\n")
        lines = [line for line in body.split("\n") if line.strip()]
        claims = [(MARKS[line[0]], line[2:].strip()) for line in lines if line[:2] in ("+ ", "- ", "? ")]
        prose = [line for line in lines if line[:2] not in ("+ ", "- ", "? ")]
        if prose and prose[0].startswith("= "):
            key = prose[0][2:].strip()
            if key not in passages:  # The text has changed since the author read it.
                continue
            prose = [" ".join(passages[key])]
        yield title.strip(), prose, claims


def sentences_of(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+(?=[A-Z\"'(])", text)


def nearest(prose, claim, most=185):
    """The sentences that have most words of the claim, with their neighbours, in their order."""
    text = " ".join(prose)
    if len(text.split()) <= most:
        return text
    lines = sentences_of(text)
    wanted = {word for word in re.findall(r"\w+", claim.lower()) if len(word) > 3 or word.isdigit()}
    ranked = sorted(range(len(lines)), key=lambda place: -len(wanted & set(re.findall(r"\w+", lines[place].lower()))))
    chosen, words = set(), 0
    for place in ranked:
        for near in (place, place - 1, place + 1):
            if 0 <= near < len(lines) and near not in chosen and words + len(lines[near].split()) <= most:
                chosen.add(near)
                words += len(lines[near].split())
    return " ".join(lines[place] for place in sorted(chosen))


def pairs_of(rules: Rules, passage: dict, others: list[dict]):
    lines = passage["sentences"]
    for line in rules.random.sample(lines, min(3, len(lines))):
        if len(line.split()) < 5:
            continue
        yield "yes", true_form(rules, line)
        if len(lines) > 1 and rules.random.random() < 0.3:
            left, right = rules.random.sample(lines, 2)
            left, right = true_form(rules, left).rstrip("."), rules.shortened(right) or right
            if len(left.split()) + len(right.split()) < 55:
                yield "yes", f"{left}, and {right}"
        for name in rules.random.sample(FALSE + UNSAID + ("name",), 5):
            base = true_form(rules, line) if rules.random.random() < 0.6 else line
            changed = rules.name(base, " ".join(lines)) if name == "name" else getattr(rules, name)(base)
            if changed and changed != base:
                # Some changes stand in a claim that joins two sentences.
                if rules.random.random() < 0.15:
                    changed = f"{changed.rstrip('.')}, and {rules.shortened(rules.random.choice(lines)) or rules.random.choice(lines)}"
                yield ("unsaid" if name in UNSAID else "no"), changed
                break
    if rules.random.random() < 0.35 and len(lines) > 1:
        left, right = rules.random.sample(lines, 2)
        made = rules.invented_cause(rules.shortened(left) or left, rules.shortened(right) or right)
        if made and len(made.split()) < 60:
            yield "unsaid", made
    other = rules.random.choice(others)
    yield "unsaid", true_form(rules, rules.random.choice(other["sentences"]))


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("passages")
    arguments.add_argument("wordnet", type=pathlib.Path)
    arguments.add_argument("out")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--rounds", type=int, default=4)
    arguments.add_argument("--written", nargs="*", default=[], type=pathlib.Path)
    given = arguments.parse_args()
    found = [json.loads(line) for line in open(given.passages)]
    names = sorted({name[0] for passage in found for line in passage["sentences"] for name in NAME.finditer(line)})
    rules = Rules(WordNet(given.wordnet), names, given.seed)
    by_source = {}
    for passage in found:
        by_source.setdefault(passage["source"], []).append(passage)
    count = 0
    with open(given.out, "w") as out:
        for _ in range(given.rounds):
            for place, passage in enumerate(found):
                near = found[max(0, place - 3):place] + found[place + 1:place + 4]
                others = near if rules.random.random() < 0.7 else by_source[passage["source"]]
                others = [other for other in others if other is not passage] or near
                part = dict(passage)
                if rules.random.random() < 0.6:
                    size = rules.random.randint(1, len(passage["sentences"]))
                    start = rules.random.randint(0, len(passage["sentences"]) - size)
                    part["sentences"] = passage["sentences"][start:start + size]
                    if size < len(passage["sentences"]):
                        rest = passage["sentences"][:start] + passage["sentences"][start + size:]
                        others = [*others, {"sentences": rest}, {"sentences": rest}]
                for label, claim in pairs_of(rules, part, others):
                    out.write(json.dumps({"title": part["title"], "passage": " ".join(part["sentences"]), "claim": claim, "label": label}, ensure_ascii=False) + "\n")
                    count += 1
        for file in given.written:
            blocks = list(read_written(file, {key_of(passage["sentences"]): passage["sentences"] for passage in found}))
            for place, (title, prose, claims) in enumerate(blocks):
                for label, claim in written_pairs(rules, title, prose, claims):
                    out.write(json.dumps({"title": title, "passage": " ".join(prose), "claim": claim, "label": label, "written": file.stem}, ensure_ascii=False) + "\n")
                    count += 1
    print(count, "pairs")
