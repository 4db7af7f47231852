"""Fits how the two sides of the end-of-turn model weigh, by sound.py's scores of authors who were held out.

usage: python3 combine.py scores.jsonl

Prints the weights of the text's and the sound's logit and the constant; finished turns and cuts count alike.
"""
import json
import pathlib
import sys

import numpy as np
from sound import area, recall_at


def rows_of(notes: list[dict]) -> tuple[np.ndarray, np.ndarray]:
    """Each sentence as it was spoken, and disturbed."""
    chances = np.clip([note["chance"] for note in notes], 1e-4, 1 - 1e-4)
    text = np.log(chances / (1 - chances))
    sound = np.clip([[note["sound"], note["disturbed"]] for note in notes], -8, 8)
    rows = [[text[place], sound[place, kind], 1.0] for place in range(len(notes)) for kind in (0, 1)]
    return np.array(rows), np.repeat([note["label"] for note in notes], 2)


def fitted(rows: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Logistic regression by Newton's method."""
    weight = np.where(truth == 1, 1 / (truth == 1).sum(), 1 / (truth == 0).sum()) * len(truth) / 2
    out = np.zeros(rows.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-rows @ out))
        slope = rows.T @ (weight * (truth - chance)) - 1e-3 * out
        bend = (rows * (weight * chance * (1 - chance))[:, None]).T @ rows + 1e-3 * np.eye(len(out))
        out += np.linalg.solve(bend, slope)
    return out


def main(path: pathlib.Path) -> None:
    notes = [json.loads(line) for line in path.open()]
    notes = [note for note in notes if note["held"] == "authors held out" and "chance" in note]
    authors = sorted({note["author"] for note in notes})
    for author in authors:
        weights = fitted(*rows_of([note for note in notes if note["author"] != author]))
        rows, truth = rows_of([note for note in notes if note["author"] == author])
        print(author, weights.round(3), "area", round(area(truth, rows @ weights), 4), "finished at 2 % of cuts", round(recall_at(truth, rows @ weights, 0.02), 3))
    print("all", fitted(*rows_of(notes)).round(3))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
