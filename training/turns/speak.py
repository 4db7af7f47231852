"""Speaks sentences with the voices of Piper (LibriTTS-R, 904 speakers) and cuts the sound at the borders of words.

usage: python3 speak.py PHONEMES.jsonl PIPER.onnx TOKENS.txt OUT [--seconds N] [--processes N]

PHONEMES: {author, clauses: [{words, phonemes, mark}]}, one sentence a line, phonemes of espeak (en-us) by word. Writes
the last 3 s before each cut at 16 kHz, with 0.15 s of what follows it, and what is known of it.
"""
import argparse
import json
import multiprocessing
import pathlib
import time

import numpy as np

RATE = 16000
BEFORE, AFTER = int(3 * RATE), int(0.15 * RATE)
HOP = 256
SPEAKERS = 904
CUTS = 5


def with_durations(path: pathlib.Path, out: pathlib.Path) -> None:
    """Adds the frames of each phoneme to the outputs: only so are the borders of words known."""
    import onnx

    model = onnx.load(path)
    ceil = [node for node in model.graph.node if node.op_type == "Ceil"]
    model.graph.output.append(onnx.helper.make_empty_tensor_value_info(ceil[0].output[0]))
    onnx.save(model, out)


def ids_of(clauses: list[dict], tokens: dict[str, int]) -> tuple[list[int], list[tuple[int, int, int, bool]]]:
    """Phoneme ids, and for each end of a phoneme word: place in the ids, clause, word, whether a comma follows."""
    ids, borders = [1, 0], []
    for number, clause in enumerate(clauses):
        for word, phonemes in enumerate(clause["phonemes"]):
            for letter in phonemes:
                ids += [tokens[letter], 0]
            last = word == len(clause["phonemes"]) - 1
            borders.append((len(ids), number, word, last and clause["mark"] != ""))
            if last:
                ids += [tokens[clause["mark"] or ","], 0]
            if not last or number < len(clauses) - 1:
                ids += [tokens[" "], 0]
    return ids + [2], borders


def hesitating(row: dict, pick: np.random.Generator) -> dict:
    """A comma where none belongs: the voice draws the word out and goes on."""
    number = int(pick.integers(len(row["clauses"])))
    clause = row["clauses"][number]
    if len(clause["words"]) != len(clause["phonemes"]) or len(clause["words"]) < 3:
        return row
    at = int(pick.integers(1, len(clause["words"])))
    halves = [{"words": clause["words"][:at], "phonemes": clause["phonemes"][:at], "mark": ","}, {"words": clause["words"][at:], "phonemes": clause["phonemes"][at:], "mark": clause["mark"]}]
    return {**row, "clauses": [*row["clauses"][:number], *halves, *row["clauses"][number + 1 :]]}


def resample(sound: np.ndarray) -> np.ndarray:
    """22,050 Hz to 16,000 Hz."""
    size = 1 << int(np.ceil(np.log2(len(sound))))
    count = int(round(size * RATE / 22050))
    spectrum = np.fft.rfft(sound, size)[: count // 2 + 1]
    whole = np.fft.irfft(spectrum, count) * (count / size)
    return whole[: int(len(sound) * RATE / 22050)].astype(np.float32)


def piece(sound: np.ndarray, place: int) -> np.ndarray:
    out = np.zeros(BEFORE + AFTER, dtype=np.int16)
    start = place - BEFORE
    part = sound[max(0, start) : place + AFTER]
    at = max(0, -start)
    out[at : at + len(part)] = np.clip(part * 32767, -32767, 32767)
    return out


def work(job) -> None:
    rows, model, tokens, seed, deadline, hesitant, out = job
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options)
    names = [output.name for output in session.get_outputs()]
    pick = np.random.default_rng(seed)
    sounds, notes = [], []
    for row in rows:
        if time.time() > deadline:
            break
        if pick.random() < hesitant:
            row = hesitating(row, pick)
        ids, borders = ids_of(row["clauses"], tokens)
        speaker = int(pick.integers(SPEAKERS))
        scales = np.array([pick.uniform(0.3, 0.75), pick.uniform(0.75, 1.45), pick.uniform(0.3, 0.9)], dtype=np.float32)
        sound, frames = session.run(names, {"input": np.array([ids], dtype=np.int64), "input_lengths": np.array([len(ids)], dtype=np.int64), "scales": scales, "sid": np.array([speaker], dtype=np.int64)})
        ends = np.cumsum(frames.reshape(-1)) * HOP
        sound = resample(sound.reshape(-1))
        peak = np.abs(sound).max() + 1e-6
        sound *= 0.7 / peak
        levels = np.sqrt((sound[: len(sound) // 320 * 320].reshape(-1, 320) ** 2).mean(1))
        loud = np.flatnonzero(levels > 0.05 * levels.max())
        if len(loud) == 0:
            continue
        end = int(loud[-1] + 1) * 320
        exact = all(len(clause["words"]) == len(clause["phonemes"]) for clause in row["clauses"])
        asks = row["clauses"][-1]["mark"] == "?"
        chosen = borders[:-1]
        commas = [border for border in chosen if border[3]]
        plain = [border for border in chosen if not border[3]]
        pick.shuffle(commas)
        pick.shuffle(plain)
        for border in [*commas[:2], *plain[: CUTS - len(commas[:2])]]:
            at, clause, word, comma = int(border[0]), int(border[1]), int(border[2]), bool(border[3])
            place = int(ends[at - 1] * RATE / 22050)
            words = None
            if exact:
                words = [each for before in row["clauses"][:clause] for each in before["words"]] + row["clauses"][clause]["words"][: word + 1]
            sounds.append(piece(sound, place))
            notes.append({"label": 0, "comma": comma, "speaker": speaker, "author": row["author"], "asks": asks, "words": words})
        words = [each for clause in row["clauses"] for each in clause["words"]] if exact else None
        sounds.append(piece(sound, end))
        notes.append({"label": 1, "comma": False, "speaker": speaker, "author": row["author"], "asks": asks, "words": words, "mark": row["clauses"][-1]["mark"]})
    np.savez(out, sounds=np.array(sounds), notes=json.dumps(notes))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("phonemes", type=pathlib.Path)
    parser.add_argument("model", type=pathlib.Path)
    parser.add_argument("tokens", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=150)
    parser.add_argument("--hesitant", type=float, default=0.0, help="share of sentences with one more comma")
    parser.add_argument("--processes", type=int, default=16)
    given = parser.parse_args()
    tokens = {line[: line.rindex(" ")]: int(line[line.rindex(" ") + 1 :]) for line in given.tokens.read_text().splitlines()}
    rows = [json.loads(line) for line in given.phonemes.open()]
    timed = given.out.with_suffix(".onnx")
    with_durations(given.model, timed)
    began, count = time.time(), given.processes
    parts = [given.out.with_suffix(f".{number}.npz") for number in range(count)]
    jobs = [(rows[number::count], timed, tokens, number, began + given.seconds, given.hesitant, parts[number]) for number in range(count)]
    with multiprocessing.get_context("spawn").Pool(count) as pool:
        pool.map(work, jobs, chunksize=1)
    sounds, notes = [], []
    for part in parts:
        with np.load(part) as loaded:
            sounds.append(loaded["sounds"])
            notes += json.loads(str(loaded["notes"]))
        part.unlink()
    np.save(given.out.with_suffix(".npy"), np.concatenate(sounds))
    given.out.with_suffix(".json").write_text(json.dumps(notes))
    print(len(notes), "pieces,", sum(note["label"] for note in notes), "whole turns,", f"{time.time() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
