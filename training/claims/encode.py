"""Turns pairs into tokens, so that several trainings can read them at once.

usage: python3 encode.py BASE PAIRS.jsonl OUT.npz
"""
import json
import pathlib
import sys

import numpy as np
from tokenizers import Tokenizer

LABELS = ("yes", "no", "unsaid", "not")
KINDS = ("made", "written", "changed", "quoted", "public")
LENGTH = 320
CLAIM = 96


def open_tokenizer(base: pathlib.Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def encode(tokenizer: Tokenizer, pairs: list[dict]) -> dict[str, np.ndarray]:
    """[CLS] claim [SEP] title: passage [SEP], the passage cut at its end; `claims` counts the tokens up to the first [SEP]."""
    lefts = tokenizer.encode_batch([pair["claim"] for pair in pairs], add_special_tokens=False)
    rights = tokenizer.encode_batch([f"{pair['title']}: {pair['passage']}" if pair["title"] else pair["passage"] for pair in pairs], add_special_tokens=False)
    tokens, sizes, claims, shared = [], [], [], []
    for left, right in zip(lefts, rights):
        head = left.ids[:CLAIM]
        tail = right.ids[:LENGTH - len(head) - 3]
        tokens += [101, *head, 102, *tail, 102]
        sizes.append(len(head) + len(tail) + 3)
        claims.append(len(head) + 2)
        shared.append(len(set(head) & set(tail)) / max(1, len(set(head))))
    return {
        "tokens": np.array(tokens, dtype=np.uint16), "sizes": np.array(sizes, dtype=np.int32), "claims": np.array(claims, dtype=np.int32),
        "shared": np.array(shared, dtype=np.float32), "labels": np.array([LABELS.index(pair["label"]) for pair in pairs], dtype=np.int8),
        "kinds": np.array([KINDS.index(pair["kind"]) if pair.get("kind", "made") in KINDS[1:] else KINDS.index("changed" if "kind" in pair else "made") for pair in pairs], dtype=np.int8),
        # Which claim of an author a pair was made of; empty for pairs made by program alone.
        "origins": np.array([pair.get("origin", "") for pair in pairs]),
    }


if __name__ == "__main__":
    base, source, out = sys.argv[1:4]
    with open(source) as lines:
        np.savez(out, **encode(open_tokenizer(pathlib.Path(base)), [json.loads(line) for line in lines]))
