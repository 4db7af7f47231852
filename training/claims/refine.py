"""Trains the committed weights on, with public pairs first, and distils several trainings into one.

usage: python3 refine.py member BASE --public PUBLIC.npz --own FOLDER --from WEIGHTS --out FOLDER [--deep] [--agreement N] ...
       python3 refine.py distil BASE --public PUBLIC.npz --own FOLDER --from WEIGHTS... --out FOLDER

BASE holds config.json and tokenizer.json of the base. WEIGHTS is a folder with the pieces of claim-judge.onnx, or the
weights.pt of a member. A member trains on public pairs alone for --first seconds and until FOLDER/ready exists, then on
both, ever fewer of them public. --deep doubles every layer. `distil` starts with the first of its members and learns what
they say together; then it divides the logits by the temperature that suits the sets of --test, and writes int8 ONNX.
"""
import argparse
import json
import math
import pathlib
import time

import numpy as np
import torch
from transformers import BertConfig, BertModel

from encode import KINDS, open_tokenizer
from train import LIMITS, MIXTURE, Judge, Pairs, area, chances, export, loss_of, read_test, score


def read_onnx(folder: pathlib.Path) -> dict[str, torch.Tensor]:
    """The weights of the int8 model, by the names that PyTorch has for them."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load_from_string(b"".join(piece.read_bytes() for piece in sorted(folder.glob("claim-judge.onnx*")))).graph
    values = {each.name: numpy_helper.to_array(each) for each in graph.initializer}
    out = {name: torch.from_numpy(np.array(value, dtype=np.float32)) for name, value in values.items() if name.split(".")[0] in ("bert", "middle", "last") and value.dtype == np.float32 and not name.endswith("_scale")}

    def whole(name):
        stem = name.removesuffix("_quantized")
        return (values[name].astype(np.float32) - values[f"{stem}_zero_point"].astype(np.float32)) * values[f"{stem}_scale"]

    for name in values:
        if name.endswith("_quantized") and name.split(".")[0] in ("bert", "middle", "last"):
            table = whole(name).astype(np.float32)
            out[name.removesuffix("_quantized")] = torch.from_numpy(np.ascontiguousarray(table if name.startswith("bert") else table.T))
    # A matrix has no name of its own: it is that of the bias that is added to its product.
    readers = {}
    for node in graph.node:
        for name in node.input:
            readers.setdefault(name, []).append(node)
    for node in graph.node:
        matrix = next((name for name in node.input if name.endswith("_quantized") and name.startswith("onnx::")), None)
        if matrix is None:
            continue
        name = node.output[0]
        for _ in range(6):
            bias = next((other for reader in readers.get(name, []) for other in reader.input if other.endswith(".bias")), None)
            if bias is not None:
                break
            name = readers[name][0].output[0]
        out[bias.removesuffix("bias") + "weight"] = torch.from_numpy(np.ascontiguousarray(whole(matrix).T.astype(np.float32)))
    return out


def load(base: pathlib.Path, source: pathlib.Path, dropout: float, is_deep: bool = False) -> Judge:
    weights = read_onnx(source) if source.is_dir() else {name: value.float() for name, value in torch.load(source).items()}
    layers = 1 + max(int(name.split(".")[3]) for name in weights if name.startswith("bert.encoder.layer."))
    if is_deep:
        doubled = {name: value for name, value in weights.items() if not name.startswith("bert.encoder.layer.")}
        for name, value in weights.items():
            if name.startswith("bert.encoder.layer."):
                parts = name.split(".")
                for place in (2 * int(parts[3]), 2 * int(parts[3]) + 1):
                    doubled[".".join([*parts[:3], str(place), *parts[4:]])] = value
        weights, layers = doubled, 2 * layers
    model = Judge.__new__(Judge)
    torch.nn.Module.__init__(model)
    config = BertConfig(**{**json.loads((base / "config.json").read_text()), "num_hidden_layers": layers, "hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout})
    model.bert, model.is_plain = BertModel(config, add_pooling_layer=False), False
    model.middle, model.last = torch.nn.Linear(3 * config.hidden_size, config.hidden_size), torch.nn.Linear(config.hidden_size, 3)
    model.dropout = torch.nn.Dropout(dropout)
    print(source, len(weights), model.load_state_dict(weights, strict=False), flush=True)
    return model.to("cuda")


class Draw:
    """Batches of about equal lengths: a part of each kind, half of it true at every length and likeness."""

    def __init__(self, pairs: Pairs, is_held: np.ndarray, size: int) -> None:
        self.pairs, self.size = pairs, size
        weights = {kind: pairs.even(kind) * ~is_held for kind in KINDS}
        self.pools = {kind: torch.from_numpy(np.flatnonzero(weight)).cuda() for kind, weight in weights.items()}
        self.sums = {kind: torch.from_numpy(weight[weight > 0]).cuda().double().cumsum(0) for kind, weight in weights.items()}
        self.left = []

    def drawn(self, kind: str, count: int) -> torch.Tensor:
        places = torch.searchsorted(self.sums[kind], torch.rand(count, device="cuda", dtype=torch.float64) * self.sums[kind][-1])
        return self.pools[kind][places.clamp(max=len(self.pools[kind]) - 1)]

    def next(self, public: float, own: float = 0.85):
        """A batch, `public` of it of the public sets; of the rest, `own` is what people wrote and what was made of it."""
        if not self.left:
            whole = 16 * self.size
            counts = {"public": int(whole * public), **{kind: int(whole * (1 - public) * own * part) for kind, part in MIXTURE.items()}}
            counts["made" if public < 1 else "public"] = whole - sum(counts.values()) + (counts["public"] if public >= 1 else 0)
            rows = torch.cat([self.drawn(kind, count) for kind, count in counts.items() if count])
            rows = rows[torch.argsort(self.pairs.sizes[rows] + 20 * torch.rand(len(rows), device="cuda"))].view(16, self.size)
            longest = self.pairs.sizes[rows].amax(1).tolist()
            self.left = [(rows[place], -(-longest[place] // 32) * 32) for place in torch.randperm(16).tolist()]
        rows, longest = self.left.pop()
        return self.pairs.batch(rows, longest), self.pairs.labels[rows]


def measured(model, checks) -> tuple[float, str]:
    """What states are chosen by (a third each the sets, the held-out author, the held-out public claims), and all in words."""
    areas = {name: area(truth, chances(model, test, only)[:, 0]) for name, test, truth, only in checks}
    sets = float(np.mean([value for name, value in areas.items() if not name.startswith("held ")]))
    found = float(np.mean([sets, *(value for name, value in areas.items() if name.startswith("held "))]))
    return found, f"choice {found:.4f} sets {sets:.4f} " + " ".join(f"{name} {value:.3f}" for name, value in areas.items())


def kept_out(pairs: Pairs, names: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of the authors in `names`, and public claims that are measured and not trained on."""
    origins = [origin.split(" ") for origin in pairs.origins]
    authors = np.array([origin[0] in names for origin in origins])
    public = np.array([origin[:2] == ["fool-me-twice", "test"] and int(origin[2]) < 1200 for origin in origins])
    return authors, public


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("task", choices=("member", "distil"))
    arguments.add_argument("base", type=pathlib.Path)
    arguments.add_argument("--public", type=pathlib.Path, required=True)
    arguments.add_argument("--own", type=pathlib.Path, required=True)
    arguments.add_argument("--from", dest="sources", nargs="+", type=pathlib.Path, required=True)
    arguments.add_argument("--out", type=pathlib.Path, required=True)
    arguments.add_argument("--test", nargs="*", default=[], type=pathlib.Path)
    arguments.add_argument("--without", nargs="*", default=[])
    arguments.add_argument("--first", type=float, default=0)
    arguments.add_argument("--until", type=float, required=True, help="second of the clock (time.time) at which the training ends")
    arguments.add_argument("--batch", type=int, default=256)
    arguments.add_argument("--rate", type=float, default=1e-4)
    arguments.add_argument("--shares", nargs=2, type=float, default=(0.5, 0.15), help="public part of a batch, at the start and at the end")
    arguments.add_argument("--dropout", type=float, default=0.1)
    arguments.add_argument("--smoothing", type=float, default=0.0)
    arguments.add_argument("--agreement", type=float, default=0.0)
    arguments.add_argument("--soft-share", type=float, default=0.8)
    arguments.add_argument("--deep", action="store_true")
    arguments.add_argument("--seed", type=int, default=7)
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(given.seed)
    torch.set_float32_matmul_precision("high")
    began = time.time()
    public = dict(np.load(given.public))
    tokenizer = open_tokenizer(given.base)
    checks = [(file.stem, Pairs([part], "cuda"), truth, None) for file in given.test for part, truth in [read_test(file, tokenizer)]]

    def opened(parts):
        pairs = Pairs(parts, "cuda")
        authors, claims = kept_out(pairs, given.without)
        here = list(checks)
        for name, rows in (("held author", np.flatnonzero(authors & (pairs.kinds == KINDS.index("written")))), ("held public", np.flatnonzero(claims & (pairs.labels_here < 2)))):
            if len(rows):
                here.append((name, pairs, pairs.labels_here[rows] == 0, rows))
        print(len(pairs.labels_here), "pairs", f"{time.time() - began:.0f} s", flush=True)
        return Draw(pairs, authors | claims, given.batch), here

    def is_ready():
        return (given.own / "ready").exists()

    has_own = given.task == "distil" or (given.first == 0 and is_ready())
    draw, here = opened([public, *(dict(np.load(file)) for file in sorted(given.own.glob("*.npz")))] if has_own else [public])
    model = load(given.base, given.sources[0], given.dropout, given.deep)
    members = []
    if given.task == "distil":
        members = [load(given.base, source, 0.0).eval() for source in given.sources]
        for source, member in zip(given.sources, members):
            print(source, measured(member, here)[1], flush=True)
            member.eval()
        for name, test, truth, only in here:
            print("together", name, f"{area(truth, np.mean([np.log(chances(member, test, only)) for member in members], 0)[:, 0]):.3f}", flush=True)
        for member in members:
            member.eval()
    print("start", measured(model, here)[1], flush=True)
    best, kept = 0.0, None
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.995))
    groups = [{"params": [value for value in model.parameters() if value.ndim > 1], "weight_decay": 0.02}, {"params": [value for value in model.parameters() if value.ndim <= 1], "weight_decay": 0}]
    optimizer = torch.optim.AdamW(groups, lr=given.rate, betas=(0.9, 0.98), fused=True)
    model.train()
    began, step, next_look, own_began = time.time(), 0, 0.1, time.time()
    done = 0.0
    while done < 1:
        now = time.time()
        done = (now - began) / max(1.0, given.until - began)
        if not has_own and now - began >= given.first and is_ready():
            print("public alone", step, "steps", measured(mean.module, here)[1], flush=True)
            has_own, own_began = True, now
            draw, here = opened([public, *(dict(np.load(file)) for file in sorted(given.own.glob("*.npz")))])
        for group in optimizer.param_groups:
            group["lr"] = given.rate * min(1, (step + 1) / 150) * (0.02 + 0.49 * (1 + math.cos(math.pi * min(1, done))))
        of_own = (now - own_began) / max(1.0, given.until - own_began)
        batch, labels = draw.next(given.shares[0] + (given.shares[1] - given.shares[0]) * of_own if has_own else 1.0)
        soft = None
        agreement = given.agreement if has_own else 0.0
        with torch.autocast("cuda", dtype=torch.bfloat16):
            if members:
                with torch.no_grad():
                    soft = torch.softmax(torch.stack([torch.log_softmax(member(**batch).float(), -1) for member in members]).mean(0), -1)
            if agreement:
                logits, again = model(**{name: torch.cat([value, value]) for name, value in batch.items()}).chunk(2)
            else:
                logits = model(**batch)
        loss = loss_of(logits, labels, given.smoothing, soft, given.soft_share)
        if agreement:
            one, two = torch.log_softmax(logits.float(), -1), torch.log_softmax(again.float(), -1)
            apart = torch.nn.functional.kl_div(one, two, log_target=True, reduction="batchmean") + torch.nn.functional.kl_div(two, one, log_target=True, reduction="batchmean")
            loss = 0.5 * (loss + loss_of(again, labels, given.smoothing, soft, given.soft_share)) + agreement * 0.5 * apart
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        mean.update_parameters(model)
        step += 1
        if done >= next_look:
            next_look = done + 0.1
            found, words = measured(mean.module, here)
            print(f"step {step} loss {loss.item():.3f} {time.time() - began:.0f} s {words}", flush=True)
            if has_own and found > best:
                best, kept = found, {name: value.clone() for name, value in mean.module.state_dict().items()}
    model = mean.module
    if kept is not None:
        model.load_state_dict(kept)
    torch.save({name: value.half() for name, value in model.state_dict().items()}, given.out / "weights.pt")
    results = {"trained": step, "best": best, "sets": {}}
    said = {name: chances(model, test, only) for name, test, truth, only in here}
    for name, test, truth, only in here:
        chance = said[name][:, 0]
        results["sets"][name] = {"area": area(truth, chance), **{str(limit): score(truth, chance, limit) for limit in LIMITS}}
        print(name, f"area {results['sets'][name]['area']:.3f}", json.dumps(results["sets"][name]["0.3"]), json.dumps(results["sets"][name]["0.5"]), flush=True)

    def unlikely(heat):
        """How badly the probabilities at this temperature fit the sets, each counting the same."""
        out = []
        for name, test, truth, only in here:
            if not name.startswith("held "):
                sharp = torch.softmax(torch.log(torch.from_numpy(said[name])) / heat, -1).numpy()[:, 0].clip(1e-6, 1 - 1e-6)
                out.append(-np.mean(np.where(truth, np.log(sharp), np.log(1 - sharp))))
        return float(np.mean(out))

    heat = min(np.arange(0.6, 4, 0.1), key=unlikely)
    print(f"temperature {heat:.1f}: {unlikely(heat):.3f}, without {unlikely(1.0):.3f}", flush=True)
    results["temperature"] = float(heat)
    with torch.no_grad():
        model.last.weight /= heat
        model.last.bias /= heat
    if len(model.bert.encoder.layer) == 6:
        export(model, given.out, checks, results)
    (given.out / "scores.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
