"""Trains the sound side of the end-of-turn model on speak.py's output: has the speaker finished, by their voice alone?

usage: python3 sound.py SPOKEN --out FOLDER [--steps N] [--text end-of-turn.onnx] [--without AUTHORS] [--seed N]

The graph takes the last 1.6 s at 16 kHz, 0.2 s of silence included, and does all else: level, spectrum below 4 kHz,
pitch, network. So the service and this script cannot differ. Writes end-of-turn-sound.onnx and scores.jsonl: what
voices and authors that were held out get by sound and by text. Needs a GPU, PyTorch and onnxruntime.
"""
import argparse
import json
import math
import pathlib
import time

import numpy as np
import torch
from torch.nn import functional

RATE, WINDOW, HOP = 16000, 25600, 320
BANDS, LAGS, WIDE = 24, 48, 88
HELD = 10
BEFORE = int(1.7 * RATE)


def mel(frequency):
    return 2595 * np.log10(1 + frequency / 700)


def spectrum_kernels(width: int, bins: int) -> torch.Tensor:
    """Windowed cosines and sines, as the kernels of a convolution."""
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(width) / width)
    angles = 2 * np.pi * np.outer(np.arange(bins), np.arange(width)) / width
    return torch.tensor(np.concatenate([np.cos(angles) * hann, np.sin(angles) * hann])[:, None], dtype=torch.float32)


def mel_filters(bins: int, step: float) -> torch.Tensor:
    edges = 700 * (10 ** (np.linspace(mel(80), mel(3800), BANDS + 2) / 2595) - 1)
    at = np.arange(bins) * step
    rows = [np.clip(np.minimum((at - low) / (middle - low), (high - at) / (high - middle)), 0, None) for low, middle, high in zip(edges, edges[1:], edges[2:])]
    return torch.tensor(np.array([row / max(row.sum(), 1e-6) for row in rows]), dtype=torch.float32)


class Features(torch.nn.Module):
    """Loudness of 24 bands and likeness to itself at 48 lags (70 to 420 Hz), every 20 ms."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kernels", spectrum_kernels(400, 96))
        self.register_buffer("filters", mel_filters(96, RATE / 400))
        taps = np.arange(64) - 31.5
        low = np.sinc(taps / 4.4) * np.hamming(64)
        self.register_buffer("low", torch.tensor(low / low.sum(), dtype=torch.float32)[None, None])
        self.register_buffer("slow", spectrum_kernels(200, 60))
        lags = np.geomspace(RATE / 4 / 420, RATE / 4 / 70, LAGS)
        self.register_buffer("cosines", torch.tensor(np.cos(2 * np.pi * np.outer(lags, np.arange(60)) / 200), dtype=torch.float32))
        # What the window alone does to a steady tone at each lag.
        hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(200) / 200)
        fall = np.array([np.interp(lag, np.arange(200), np.correlate(hann, hann, "full")[199:]) for lag in lags])
        self.register_buffer("fall", torch.tensor(fall / (hann**2).sum(), dtype=torch.float32)[:, None])
        self.register_buffer("places", torch.linspace(-1, 1, LAGS)[:, None])

    def forward(self, samples):
        sound = samples / torch.sqrt((samples**2).mean(1, keepdim=True) + 1e-9)
        waves = functional.conv1d(functional.pad(sound[:, None], (40, 40)), self.kernels, stride=HOP)
        power = waves[:, :96] ** 2 + waves[:, 96:] ** 2
        bands = torch.log(self.filters @ power + 1.0)
        slow = functional.conv1d(functional.pad(sound[:, None], (30, 30)), self.low, stride=4)
        waves = functional.conv1d(functional.pad(slow, (60, 60)), self.slow, stride=HOP // 4)
        power = waves[:, :60] ** 2 + waves[:, 60:] ** 2
        energy = power[:, :1] * 0 + power.sum(1, keepdim=True)
        alike = (self.cosines @ power) / (energy + 5.0) / self.fall
        frames = min(bands.shape[2], alike.shape[2])
        return bands[:, :, :frames], alike[:, :, :frames], self.pitch(alike[:, :, :frames])

    def pitch(self, alike):
        """Where the likeness is greatest, against the mean of the voiced frames, and how great it is."""
        weight = torch.softmax(alike * 12, 1)
        place = (weight * self.places).sum(1, keepdim=True)
        voiced = torch.sigmoid((alike.amax(1, keepdim=True) - 0.5) * 12)
        mean = (place * voiced).sum(2, keepdim=True) / (voiced.sum(2, keepdim=True) + 1e-3)
        return torch.cat([(place - mean) * voiced * 3, voiced], 1)


class Block(torch.nn.Module):
    def __init__(self, wide: int, dilation: int, dropout: float) -> None:
        super().__init__()
        self.norm = torch.nn.GroupNorm(1, wide)
        self.each = torch.nn.Conv1d(wide, wide, 5, padding=2 * dilation, dilation=dilation, groups=4)
        self.mix = torch.nn.Conv1d(wide, wide, 1)
        self.dropout = torch.nn.Dropout(dropout)

    def forward(self, x):
        return x + self.dropout(self.mix(functional.gelu(self.each(self.norm(x)))))


class Sound(torch.nn.Module):
    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.features = Features()
        self.melody = torch.nn.Sequential(torch.nn.Conv2d(1, 8, 5, padding=2), torch.nn.GELU(), torch.nn.Conv2d(8, 16, 5, padding=2, stride=(2, 1)), torch.nn.GELU())
        self.begin = torch.nn.Conv1d(BANDS + 16 + 2, WIDE, 3, padding=1)
        self.blocks = torch.nn.Sequential(*(Block(WIDE, dilation, dropout) for dilation in (1, 2, 4, 8, 1, 4)))
        self.weigh = torch.nn.Conv1d(WIDE, 4, 1)
        self.out = torch.nn.Sequential(torch.nn.LayerNorm(WIDE * 5), torch.nn.Dropout(dropout), torch.nn.Linear(WIDE * 5, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))

    def forward(self, samples, masked=None):
        bands, alike, pitch = self.features(samples)
        bands = (bands - 2.5) / 2
        if masked is not None:
            bands = bands * masked
        melody = self.melody(alike[:, None]).amax(2)
        x = self.blocks(self.begin(torch.cat([bands, melody, pitch], 1)))
        weights = torch.softmax(self.weigh(x), 2)
        pooled = (weights @ x.transpose(1, 2)).flatten(1)
        return self.out(torch.cat([pooled, x.mean(2)], 1))[:, 0]


def coloured(shape: tuple[int, int], device) -> torch.Tensor:
    """Noise whose spectrum falls with a random slope, some of it humming or coming and going."""
    spectrum = torch.fft.rfft(torch.randn(shape, device=device))
    at = torch.linspace(0.002, 1, spectrum.shape[1], device=device)
    noise = torch.fft.irfft(spectrum * at ** -(torch.rand(shape[0], 1, device=device) * 1.2), shape[1])
    beat = 1 + 0.6 * torch.sin(2 * math.pi * torch.rand(shape[0], 1, device=device) * 6 * torch.arange(shape[1], device=device) / RATE)
    return noise * beat / noise.pow(2).mean(1, keepdim=True).sqrt()


def rooms(count: int, device) -> torch.Tensor:
    """Impulse responses: the voice, then noise that dies away in 0.1 to 0.8 s."""
    at = torch.arange(WINDOW // 2, device=device) / RATE
    seconds = 0.1 + 0.7 * torch.rand(count, 1, device=device) ** 2
    tail = torch.randn(count, len(at), device=device) * torch.exp(-6.9 * at / seconds)
    tail = tail / tail.pow(2).sum(1, keepdim=True).sqrt() * 10 ** (-(2 + 14 * torch.rand(count, 1, device=device)) / 20)
    tail[:, 0] = 1
    return tail


def made_windows(pieces: torch.Tensor, labels: torch.Tensor, hard: bool) -> torch.Tensor:
    """A pause after each piece, in a room, with noise, through a telephone."""
    device, count = pieces.device, len(pieces)
    some = lambda share: torch.rand(count, 1, device=device) < share
    sound = pieces.float() / 32768
    length = sound.shape[1]
    # The border is not exact, and a pause begins abruptly or not.
    shift = torch.where(labels[:, None] == 1, torch.randint(-160, 2000, (count, 1), device=device), torch.randint(-500, 700, (count, 1), device=device))
    if not hard:
        shift = torch.zeros_like(shift)
    end = BEFORE + shift
    fade = 30 + (torch.rand(count, 1, device=device) ** 2 * (800 if hard else 100))
    at = torch.arange(length, device=device)[None]
    sound = sound * ((end - at) / fade).clamp(0, 1)
    silence = torch.randint(2000, 5200, (count, 1), device=device) if hard else torch.full((count, 1), 3200, device=device)
    # Ends so much after the voice.
    places = torch.arange(WINDOW, device=device)[None] + end + silence - WINDOW
    voiced = places < length
    out = torch.where(voiced & (places >= 0), sound.gather(1, places.clamp(0, length - 1)), torch.zeros((), device=device))
    if not hard:
        return out
    wet = torch.fft.irfft(torch.fft.rfft(out, 2 * WINDOW) * torch.fft.rfft(rooms(count, device), 2 * WINDOW), 2 * WINDOW)[:, :WINDOW]
    out = torch.where(some(0.35), wet, out)
    level = out.pow(2).mean(1, keepdim=True).sqrt() + 1e-5
    noise = coloured((count, WINDOW), device)
    babble = sum(torch.roll(pieces, k * 7 + 3, 0)[:, :WINDOW].float() / 32768 for k in range(3))
    babble = babble / (babble.pow(2).mean(1, keepdim=True).sqrt() + 1e-4)
    noise = torch.where(some(0.2), babble, noise) * level * 10 ** (-(5 + 35 * torch.rand(count, 1, device=device)) / 20)
    # A pause that was put into a recording has no noise.
    gone = some(0.4) & (places >= end)
    out = out + torch.where(some(0.65), noise * ~gone, torch.zeros((), device=device))
    spectrum = torch.fft.rfft(out)
    tone = torch.linspace(0, 1, spectrum.shape[1], device=device)[None]
    tilt = torch.exp((torch.rand(count, 1, device=device) - 0.5) * 3 * tone)
    wide = torch.where(some(0.5), 0.425 + 0.05 * torch.rand(count, 1, device=device), torch.full((count, 1), 2.0, device=device))
    lowest = torch.where(some(0.4), 0.01 + 0.03 * torch.rand(count, 1, device=device), torch.zeros(count, 1, device=device))
    out = torch.fft.irfft(spectrum * tilt * (tone < wide) * (tone > lowest), WINDOW)
    return out * 10 ** (-torch.rand(count, 1, device=device) * 1.7)


def area(truth: np.ndarray, logits: np.ndarray) -> float:
    ranks = np.empty(len(logits))
    ranks[np.argsort(logits, kind="stable")] = np.arange(1, len(logits) + 1)
    positive = truth.sum()
    return float((ranks[truth == 1].sum() - positive * (positive + 1) / 2) / (positive * (len(truth) - positive)))


def recall_at(truth: np.ndarray, logits: np.ndarray, false: float) -> float:
    return float((logits[truth == 1] > np.quantile(logits[truth == 0], 1 - false)).mean())


@torch.no_grad()
def judge(model, pieces, labels, hard: bool) -> np.ndarray:
    return torch.cat([model(made_windows(pieces[start : start + 1024], labels[start : start + 1024], hard)) for start in range(0, len(pieces), 1024)]).cpu().numpy()


def report(name: str, truth: np.ndarray, logits: np.ndarray) -> dict:
    scores = {"count": len(truth), "area": round(area(truth, logits), 4), "finished at 2 % of cuts": round(recall_at(truth, logits, 0.02), 3), "at 5 %": round(recall_at(truth, logits, 0.05), 3)}
    print(name, json.dumps(scores), flush=True)
    return scores


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("spoken", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--without", default="en-home,en-desk")
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--rate", type=float, default=2e-3)
    parser.add_argument("--batch", type=int, default=768)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--commas", type=int, default=0, help="how often pauses of the speaker's own are added to the cuts")
    parser.add_argument("--seed", type=int, default=5)
    given = parser.parse_args()
    torch.manual_seed(given.seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    given.out.mkdir(parents=True, exist_ok=True)
    notes = json.loads(given.spoken.with_suffix(".json").read_text())
    pieces = torch.from_numpy(np.load(given.spoken.with_suffix(".npy"))).cuda()
    labels = torch.tensor([note["label"] for note in notes], device="cuda")
    without = given.without.split(",")
    apart = np.array([note["author"] in without for note in notes])
    voices = np.array([note["speaker"] % HELD == 0 for note in notes])
    rows = {"voices held out": np.flatnonzero(voices & ~apart), "authors held out": np.flatnonzero(apart)}
    trained = np.flatnonzero(~voices & ~apart)
    truth = labels.cpu().numpy()
    # A drawn-out word before a pause of the speaker's own is the hardest case.
    commas = np.array([note["comma"] for note in notes])
    cuts = trained[truth[trained] == 0]
    pools = [torch.tensor(pool, device="cuda") for pool in (np.concatenate([cuts, *[cuts[commas[cuts]]] * given.commas]), trained[truth[trained] == 1])]
    print("trained on", [len(pool) for pool in pools], {name: len(places) for name, places in rows.items()}, flush=True)
    model = Sound(given.dropout).cuda()
    print("parameters", sum(each.numel() for each in model.parameters()), flush=True)
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.998))
    optimizer = torch.optim.AdamW(model.parameters(), lr=given.rate, weight_decay=0.02)
    began = time.time()
    for step in range(given.steps):
        for group in optimizer.param_groups:
            group["lr"] = given.rate * min(1, (step + 1) / 200) * (0.02 + 0.98 * (1 + math.cos(math.pi * step / given.steps)) / 2)
        chosen = torch.cat([pool[torch.randint(len(pool), (share,), device="cuda")] for pool, share in zip(pools, (given.batch // 2, given.batch // 2))])
        with torch.no_grad():
            windows = made_windows(pieces[chosen], labels[chosen], True)
            masked = (torch.rand(len(chosen), BANDS, 1, device="cuda") > 0.06).float()
        with torch.autocast("cuda", torch.bfloat16, enabled=False):
            logits = model(windows, masked).float()
        loss = functional.binary_cross_entropy_with_logits(logits, labels[chosen].float() * 0.96 + 0.02)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        mean.update_parameters(model)
        if (step + 1) % max(1, given.steps // 4) == 0:
            places = rows["voices held out"]
            mean.eval()
            report(f"{step + 1} {time.time() - began:.0f} s loss {loss.item():.3f}", truth[places], judge(mean, pieces[places], labels[places], True))
    model = mean.module.eval()
    results = {"steps": given.steps, "seed": given.seed, "trained": len(trained), "seconds": round(time.time() - began)}
    for name, places in rows.items():
        for hard in (False, True):
            logits = judge(model, pieces[places], labels[places], hard)
            results[f"{name}, {'disturbed' if hard else 'clean'}"] = report(f"{name} {hard}", truth[places], logits)
            own = (truth[places] == 1) | commas[places]
            results[f"{name}, {'disturbed' if hard else 'clean'}, own pauses"] = report(f"{name} {hard}, own pauses", truth[places][own], logits[own])
    export(model, given.out)
    write_scores(model, given, notes, pieces, labels, rows)
    (given.out / "sound.json").write_text(json.dumps(results, indent=1))


def write_scores(model, given, notes, pieces, labels, rows) -> None:
    """Logits of what was held out, for the layer that combines sound and text."""
    texts = {}
    if given.text:
        import onnxruntime
        from turns import encode, words_in

        session = onnxruntime.InferenceSession(str(given.text))
    with (given.out / "scores.jsonl").open("w") as file:
        for name, places in rows.items():
            clean, hard = judge(model, pieces[places], labels[places], False), judge(model, pieces[places], labels[places], True)
            for place, each, disturbed in zip(places, clean, hard):
                note = notes[place]
                if given.text and note["words"]:
                    words = words_in(" ".join(note["words"]))
                    chance = float(session.run(None, {"ids": np.array([encode("en", words)], dtype=np.int64)})[0][0])
                    texts = {"chance": chance}
                else:
                    texts = {}
                file.write(json.dumps({"held": name, "label": note["label"], "comma": note["comma"], "author": note["author"], "speaker": note["speaker"], "words": note["words"], "sound": round(float(each), 3), "disturbed": round(float(disturbed), 3), **texts}) + "\n")


def export(model: Sound, out: pathlib.Path) -> None:
    import onnxruntime

    model = model.cpu().float().eval()
    path = out / "end-of-turn-sound.onnx"
    sample = torch.randn(1, WINDOW)
    torch.onnx.export(model, (sample,), str(path), input_names=["samples"], output_names=["logit"], opset_version=17, dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options)
    run = lambda: session.run(None, {"samples": sample.numpy()})[0]
    print("size", path.stat().st_size, "differs by", float(np.abs(run() - model(sample).detach().numpy()).max()))
    began = time.time()
    for _ in range(50):
        run()
    print(f"{(time.time() - began) * 20:.2f} ms a window", flush=True)
    model.cuda()


if __name__ == "__main__":
    main()
