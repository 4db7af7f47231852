"""Trains the end-of-turn model on turns.py's output: has the speaker finished, by their words alone?

usage: python3 train.py TURNS.jsonl WORDS.npz --out FOLDER [--steps N] [--without AUTHORS] [--seed N]

A causal transformer over words, so that one pass judges every cut of a turn. Writes end-of-turn.onnx (int8) and
scores.json. Held-out templates choose; test.txt is only reported. Needs a GPU, PyTorch, onnx and onnxruntime.
"""
import argparse
import json
import math
import pathlib
import time

import numpy as np
import torch
from turns import BUCKETS, FEATURES, LANGUAGES, encode, words_in

LENGTH = 48
SHARES = {"claims": 0.25, "en": 0.35, "other": 0.4}
TEST = pathlib.Path(__file__).parent / "test.txt"


class Layer(torch.nn.Module):
    def __init__(self, wide: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = torch.nn.LayerNorm(wide), torch.nn.LayerNorm(wide)
        self.mixed, self.joined = torch.nn.Linear(wide, 3 * wide), torch.nn.Linear(wide, wide)
        self.up, self.down = torch.nn.Linear(wide, 4 * wide), torch.nn.Linear(4 * wide, wide)
        self.dropout = torch.nn.Dropout(dropout)

    def forward(self, x, mask):
        batch, length, wide = x.shape
        parts = self.mixed(self.before(x)).view(batch, length, 3, self.heads, wide // self.heads).permute(2, 0, 3, 1, 4)
        scores = parts[0] @ parts[1].transpose(-1, -2) / math.sqrt(wide // self.heads) + mask
        heard = (torch.softmax(scores, -1) @ parts[2]).transpose(1, 2).reshape(batch, length, wide)
        x = x + self.dropout(self.joined(heard))
        return x + self.dropout(self.down(torch.nn.functional.gelu(self.up(self.between(x)))))


class EndOfTurn(torch.nn.Module):
    def __init__(self, vectors: torch.Tensor, dropout: float, noise: float, narrow=96, wide=160, layers=3, heads=5) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(BUCKETS, narrow)
        torch.nn.init.normal_(self.table.weight, std=0.02)
        self.kinds = torch.nn.Parameter(torch.ones(FEATURES - 1, narrow))
        self.widen = torch.nn.Linear(narrow, wide)
        self.words = torch.nn.Embedding.from_pretrained(vectors, freeze=True)
        self.noise = noise
        self.known = torch.nn.Linear(vectors.shape[1], wide)
        # Counted from the newest word, so that a cut window looks as it did in training.
        self.bias = torch.nn.Parameter(torch.zeros(heads, 64))
        self.layers = torch.nn.ModuleList(Layer(wide, heads, dropout) for _ in range(layers))
        self.last, self.out = torch.nn.LayerNorm(wide), torch.nn.Linear(wide, 1)
        self.dropout = torch.nn.Dropout(dropout)

    def noisy(self, vectors):
        """Words that are alike must be judged alike."""
        return vectors + self.noise * torch.randn_like(vectors) if self.training else vectors

    def forward(self, ids):
        """ids: batch, words, features. Gives a logit for every word."""
        x = self.widen((self.table(ids[..., :-1]) * self.kinds).sum(2)) + self.known(self.noisy(self.words(ids[..., -1])))
        length = ids.shape[1]
        places = torch.arange(length, device=ids.device)
        back = places[:, None] - places[None]
        mask = self.bias[:, back.clamp(0, 63)] + torch.where(back < 0, -1e4, 0.0)
        x = self.dropout(x)
        for layer in self.layers:
            x = layer(x, mask[None])
        return self.out(self.last(x))[..., 0]


class Last(torch.nn.Module):
    """Probability that the turn is over after the last word."""

    def __init__(self, model: EndOfTurn) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids):
        return torch.sigmoid(self.model(ids)[:, -1])


def common_words(turns: list[dict], count: int) -> dict[str, set[str]]:
    """The words of a language that most templates and sentences have: they carry the syntax."""
    seen = {language: {} for language in LANGUAGES}
    for row, turn in enumerate(turns):
        # The claim judge's authors write more than the others, and never "I" or "you".
        for word in set(turn["words"]) if turn["author"] != "claims" or row % 40 == 0 else ():
            seen[turn["language"]].setdefault(word, set()).add(turn["template"])
    return {language: set(sorted(words, key=lambda word: -len(words[word]))[:count]) for language, words in seen.items()}


def mark_common(turns: list[dict], known: dict[str, set[str]]) -> torch.Tensor:
    marks = np.ones((len(turns), LENGTH), dtype=bool)
    for row, turn in enumerate(turns):
        words = turn["words"][: LENGTH - 1]
        marks[row, 1 : len(words) + 1] = [word in known[turn["language"]] for word in words]
    return torch.from_numpy(marks).cuda()


def pack(turns: list[dict]) -> tuple[torch.Tensor, torch.Tensor]:
    known = {}
    ids = np.zeros((len(turns), LENGTH, FEATURES), dtype=np.int32)
    labels = np.full((len(turns), LENGTH), -1, dtype=np.int8)
    for row, turn in enumerate(turns):
        words = turn["words"][: LENGTH - 1]
        for place, word in enumerate([f"<{turn['language']}>", *words]):
            if word not in known:
                known[word] = encode(turn["language"], [word])[1] if place else encode(turn["language"], [])[0]
            ids[row, place] = known[word]
        labels[row, 1 : len(words) + 1] = turn["labels"][: LENGTH - 1]
    return torch.from_numpy(ids).cuda(), torch.from_numpy(labels).cuda()


def read_test() -> list[tuple[str, list[str], int]]:
    """Language, words, 1 at the end of a turn and 0 at a marked cut."""
    cases = []
    for line in TEST.read_text().splitlines():
        if line.startswith("#") or not line.strip():
            continue
        language, text = line[:2], line[3:]
        parts = text.split("|")
        for count in range(1, len(parts) + 1):
            cases.append((language, words_in(" ".join(parts[:count])), int(count == len(parts))))
    return cases


def area(truth: np.ndarray, chance: np.ndarray) -> float:
    order = np.argsort(chance, kind="stable")
    ranks = np.empty(len(chance))
    ranks[order] = np.arange(1, len(chance) + 1)
    positive = truth.sum()
    return float((ranks[truth == 1].sum() - positive * (positive + 1) / 2) / (positive * (len(truth) - positive)))


def score(truth: np.ndarray, chance: np.ndarray) -> dict:
    """Shares of finished turns judged so, and of cuts judged finished, at several limits."""
    return {"count": len(truth), "area": round(area(truth, chance), 4), "at": {str(limit): [round(float((chance[truth == 1] >= limit).mean()), 3), round(float((chance[truth == 0] >= limit).mean()), 3)] for limit in (0.1, 0.3, 0.5, 0.7, 0.8, 0.9)}}


@torch.no_grad()
def judge_held(model, ids, labels):
    chances, truths = [], []
    for start in range(0, len(ids), 2048):
        given = labels[start : start + 2048]
        chance = torch.sigmoid(model(ids[start : start + 2048].long()).float())
        chances.append(chance[given >= 0].cpu().numpy())
        truths.append(given[given >= 0].cpu().numpy())
    return np.concatenate(truths), np.concatenate(chances)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("turns", type=pathlib.Path)
    parser.add_argument("words", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--noise", type=float, default=0.7)
    parser.add_argument("--without", default="", help="authors who are measured instead of trained on, separated by commas")
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--weight", type=float, default=0.6, help="of finished turns against the rest of the same length")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--dropped", type=float, default=0.5)
    parser.add_argument("--dropout", type=float, default=0.15)
    parser.add_argument("--common", type=int, default=250)
    parser.add_argument("--final", action="store_true", help="reports test.txt, by which nothing is chosen")
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    given.out.mkdir(parents=True, exist_ok=True)
    turns = [json.loads(line) for line in given.turns.open()]
    without = given.without.split(",")
    trained = [turn for turn in turns if turn["author"] not in without and not turn["held"]]
    # Other templates of the same authors are far easier than another author's.
    held = [turn for turn in turns if (turn["author"] in without if given.without else turn["held"])]
    ids, labels = pack(trained)
    held_ids, held_labels = pack(held)
    common = mark_common(trained, common_words(trained, given.common))
    groups = [torch.tensor([row for row, turn in enumerate(trained) if group(turn) == name], device="cuda") for name in SHARES]
    balance = balanced(labels, groups, given.weight)
    print("turns", len(trained), "held out", len(held), [len(rows) for rows in groups], flush=True)
    model = EndOfTurn(torch.from_numpy(np.load(given.words)["vectors"].astype(np.float32)), given.dropout, given.noise).cuda()
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.998))
    optimizer = torch.optim.AdamW(model.parameters(), lr=given.rate, weight_decay=0.02, betas=(0.9, 0.98))
    began, step = time.time(), 0
    while step < given.steps:
        progress = step / given.steps
        for group_of in optimizer.param_groups:
            group_of["lr"] = given.rate * min(1, (step + 1) / 300) * (0.02 + 0.98 * (1 + math.cos(math.pi * progress)) / 2)
        rows = torch.cat([rows[torch.randint(len(rows), (int(given.batch * share),), device="cuda")] for rows, share in zip(groups, SHARES.values())])
        batch, truth = ids[rows].long(), labels[rows]
        # Words that callers will say and nobody wrote here are known by their ends alone, and some by nothing.
        unknown = torch.rand(batch.shape[:2], device="cuda") / torch.where(common[rows], 0.1, 1.0)
        batch[..., [0, 1, 4]] *= (unknown > given.dropped)[..., None]
        batch[..., 3] *= unknown > given.dropped * 0.6
        batch *= (unknown > 0.03)[..., None]
        logits = model(batch).float()
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, truth.clamp(0).float() * 0.98 + 0.01, reduction="none", weight=torch.where(truth == 1, balance, 1.0))
        loss = (loss * (truth >= 0)).sum() / (truth >= 0).sum()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        mean.update_parameters(model)
        step += 1
        if step % 500 == 0:
            mean.eval()
            for name in SHARES:
                rows = torch.tensor([row for row, turn in enumerate(held) if group(turn) == name], device="cuda", dtype=torch.long)
                if len(rows):
                    print(step, f"{time.time() - began:.0f} s loss {loss.item():.4f}", name, json.dumps(score(*judge_held(mean, held_ids[rows], held_labels[rows]))), flush=True)
    model = mean.module.eval()
    results = {"steps": step, "arguments": {key: str(value) for key, value in vars(given).items()}, "trained": len(trained), "held": {}}
    for name in SHARES:
        rows = torch.tensor([row for row, turn in enumerate(held) if group(turn) == name], device="cuda", dtype=torch.long)
        if len(rows) == 0:
            continue
        results["held"][name] = score(*judge_held(model, held_ids[rows], held_labels[rows]))
    export(model, given.out)
    if given.final:
        results["test"] = judge_test(given.out)
    (given.out / "scores.json").write_text(json.dumps(results, indent=1))
    print(json.dumps(results["held"]), flush=True)


def balanced(labels: torch.Tensor, groups: list[torch.Tensor], weight: float) -> torch.Tensor:
    """Weight of a finished turn by its length. Every long turn begins with a few words, so short ones would count for nothing."""
    sums = [(sum(share * ((labels[rows] == truth).float().mean(0)) for rows, share in zip(groups, SHARES.values()))) for truth in (0, 1)]
    return (weight * sums[0] / sums[1].clamp(min=1e-6)).clamp(1, 40)


def group(turn: dict) -> str:
    return "claims" if turn["author"] == "claims" else "en" if turn["language"] == "en" else "other"


def export(model: EndOfTurn, out: pathlib.Path) -> None:
    from onnxruntime.quantization import QuantType, quantize_dynamic

    sample = torch.ones(1, 9, FEATURES, dtype=torch.long)
    torch.onnx.export(Last(model).cpu().float().eval(), (sample,), str(out / "whole.onnx"), input_names=["ids"], output_names=["finished"], dynamic_axes={"ids": {0: "batch", 1: "words"}, "finished": {0: "batch"}}, opset_version=17, dynamo=False)
    quantize_dynamic(str(out / "whole.onnx"), str(out / "end-of-turn.onnx"), weight_type=QuantType.QInt8, per_channel=True, op_types_to_quantize=["MatMul", "Gather"])
    print("size", (out / "whole.onnx").stat().st_size, (out / "end-of-turn.onnx").stat().st_size, flush=True)


def judge_test(out: pathlib.Path) -> dict:
    """The file that ships, on turns by another author."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(out / "end-of-turn.onnx"), options)
    cases = read_test()
    began = time.time()
    chances = np.array([session.run(None, {"ids": np.array([encode(language, words)], dtype=np.int64)})[0][0] for language, words, _ in cases])
    print(f"{1000 * (time.time() - began) / len(cases):.2f} ms a turn", flush=True)
    truths = np.array([truth for *_, truth in cases])
    kinds = {"all": None, **{language: language for language in LANGUAGES}}
    rows = {name: [place for place, case in enumerate(cases) if language in (None, case[0])] for name, language in kinds.items()}
    return {name: score(truths[places], chances[places]) for name, places in rows.items()}


if __name__ == "__main__":
    main()
