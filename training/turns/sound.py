"""Trains the sound side of the end-of-turn model on speak.py's output: has the speaker finished, by their voice alone?

usage: python3 sound.py SPOKEN --out FOLDER [--steps N] [--window SECONDS] [--text end-of-turn.onnx] [--without AUTHORS] [--seed N]

The graph takes the last seconds at 16 kHz, 0.2 s of silence included, and does all else: level, spectrum below 4 kHz,
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

RATE, WINDOW, HOP = 16000, 38400, 320
# The graph judges the window and the one half a step before it, so that it matters less where steps begin.
STEADY = HOP // 2
BANDS, LAGS, WIDE = 24, 48, 88
HELD = 10
BEFORE = int(3 * RATE)


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
        # A voice that rises goes on, except at the end of a question.
        self.begin = torch.nn.Conv1d(BANDS + 16 + 2 + 1, WIDE, 3, padding=1)
        self.blocks = torch.nn.Sequential(*(Block(WIDE, dilation, dropout) for dilation in (1, 2, 4, 8, 16, 2)))
        self.weigh = torch.nn.Conv1d(WIDE, 4, 1)
        self.out = torch.nn.Sequential(torch.nn.LayerNorm(WIDE * 5), torch.nn.Dropout(dropout), torch.nn.Linear(WIDE * 5, 64), torch.nn.GELU(), torch.nn.Linear(64, 1))

    def forward(self, samples, asks, masked=None):
        bands, alike, pitch = self.features(samples)
        bands = (bands - 2.5) / 2
        if masked is not None:
            bands = bands * masked
        melody = self.melody(alike[:, None]).amax(2)
        x = self.blocks(self.begin(torch.cat([bands, melody, pitch, asks[:, None, None].expand(-1, 1, bands.shape[2])], 1)))
        weights = torch.softmax(self.weigh(x), 2)
        pooled = (weights @ x.transpose(1, 2)).flatten(1)
        return self.out(torch.cat([pooled, x.mean(2)], 1))[:, 0]


class Steady(torch.nn.Module):
    """The mean of two windows, half a step apart."""

    def __init__(self, model: Sound) -> None:
        super().__init__()
        self.model = model

    def forward(self, samples, asks):
        both = torch.cat([samples[:, STEADY:], samples[:, :-STEADY]])
        return self.model(both, asks.expand(2)).mean(0, keepdim=True)


def coded(sound: torch.Tensor) -> torch.Tensor:
    """About what a codec of speech does: noise in the shape of the spectrum, and soft parts of it are gone."""
    count, device = len(sound), sound.device
    window = torch.hann_window(400, device=device)
    bins = torch.stft(sound, 400, 160, window=window, return_complex=True)
    size = bins.abs()
    noise = torch.randn_like(bins) * functional.avg_pool2d(size[:, None], (9, 1), stride=1, padding=(4, 0))[:, 0]
    loud = size.amax((1, 2), keepdim=True) * 10 ** (-(35 + 25 * torch.rand(count, 1, 1, device=device)) / 20)
    bins = (bins + noise * 10 ** (-(6 + 18 * torch.rand(count, 1, 1, device=device)) / 20)) * (size > loud)
    return torch.istft(bins, 400, 160, window=window, length=sound.shape[1])


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


def made_windows(pieces: torch.Tensor, labels: torch.Tensor, pauses: torch.Tensor, hard: bool | None) -> torch.Tensor:
    """A pause after each piece; hard: in a room, with noise, through a telephone; None: as it comes in a call."""
    device, count = pieces.device, len(pieces)
    calm, hard = hard is None, hard is True
    some = lambda share: torch.rand(count, 1, device=device) < share
    sound = pieces.float() / 32768
    length = sound.shape[1]
    # The border is not exact, and a pause begins abruptly or not.
    long = torch.randint(-160, 1600, (count, 1), device=device)
    shift = torch.where((labels[:, None] == 1) | pauses[:, None], long, torch.randint(-500, 700, (count, 1), device=device))
    if not hard:
        shift = torch.zeros_like(shift)
    end = BEFORE + shift
    fade = 30 + (torch.rand(count, 1, device=device) ** 2 * (800 if hard else 100))
    at = torch.arange(length, device=device)[None]
    sound = sound * ((end - at) / fade).clamp(0, 1)
    # Ends so much after the border, whatever the label: the length of the silence must tell nothing.
    silence = torch.randint(1700, 5800, (count, 1), device=device) if hard else torch.full((count, 1), 3200, device=device)
    if calm:
        silence = torch.randint(2100, 3700, (count, 1), device=device)
    # Played slower or faster, so that pitch and pace differ from the voice's own.
    pace = torch.exp((torch.rand(count, 1, device=device) - 0.5) * 0.34) if hard else torch.ones(count, 1, device=device)
    steps = torch.arange(WINDOW, device=device)[None]
    # A jitter buffer stretches and shortens a little.
    swing = 50 * torch.rand(count, 1, device=device) * torch.sin((steps / RATE * (1 + 2 * torch.rand(count, 1, device=device)) + torch.rand(count, 1, device=device)) * 2 * math.pi) * hard
    exact = BEFORE + (silence + steps - WINDOW) * pace + swing
    places = exact.floor().long()
    part = exact - places
    first, second = (sound.gather(1, (places + next).clamp(0, length - 1)) for next in (0, 1))
    out = torch.where((places < length - 1) & (places >= 0), first * (1 - part) + second * part, torch.zeros((), device=device))
    if calm:
        out = torch.where(some(0.5), coded(out), out) + 1e-4 * torch.randn_like(out)
        return out * 10 ** (-torch.rand(count, 1, device=device))
    if not hard:
        return out
    # A recording studio or a telephone evens out how loud the syllables are.
    even = functional.avg_pool1d(functional.avg_pool1d(out.abs()[:, None], HOP), 5, stride=1, padding=2)
    even = functional.interpolate(even, WINDOW, mode="linear")[:, 0] + 0.003
    out = out * torch.where(some(0.4), even ** (-0.7 * torch.rand(count, 1, device=device)), torch.ones((), device=device))
    out = out * 0.3 / out.abs().amax(1, keepdim=True).clamp(min=1e-3)
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
    out = torch.where(some(0.4), coded(out), out)
    return out * 10 ** (-torch.rand(count, 1, device=device) * 1.7)


def area(truth: np.ndarray, logits: np.ndarray) -> float:
    ranks = np.empty(len(logits))
    ranks[np.argsort(logits, kind="stable")] = np.arange(1, len(logits) + 1)
    positive = truth.sum()
    return float((ranks[truth == 1].sum() - positive * (positive + 1) / 2) / (positive * (len(truth) - positive)))


def recall_at(truth: np.ndarray, logits: np.ndarray, false: float) -> float:
    return float((logits[truth == 1] > np.quantile(logits[truth == 0], 1 - false)).mean())


@torch.no_grad()
def judge(model, pieces, labels, pauses, asks, hard: bool) -> np.ndarray:
    parts = [slice(start, start + 1024) for start in range(0, len(pieces), 1024)]
    return torch.cat([model(made_windows(pieces[part], labels[part], pauses[part], hard), asks[part]) for part in parts]).cpu().numpy()


VIEWS = 8


@torch.no_grad()
def swings(judges: dict, pieces, labels, pauses, asks) -> dict:
    """How far the same sound moves the judgement with the place in the window, level, codec and pace; and what that costs."""
    views = [made_windows(pieces, labels, pauses, True) for _ in range(VIEWS)]
    # As they come in a call: without noise and rooms, other silences and begins of steps.
    calm = [made_windows(pieces, labels, pauses, None) for _ in range(VIEWS)]
    truth, out = labels.cpu().numpy(), {}
    for name, each in judges.items():
        rows = {}
        for kind, windows in (("disturbed", views), ("calm", calm)):
            logits = np.stack([each(window, asks) for window in windows])
            apart = logits[:, truth == 1].mean() - logits[:, truth == 0].mean()
            rows[kind] = {"area": round(float(np.mean([area(truth, row) for row in logits])), 4), "moves by": round(float(logits.std(0).mean()), 3), "of ends from cuts": round(float(logits.std(0).mean() / apart), 4)}
        out[name] = rows
        print("same sound", name, json.dumps(rows), flush=True)
    return out


def by_file(path: pathlib.Path):
    """Another model's graph, on the end of the same windows."""
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path))
    width = session.get_inputs()[0].shape[1]
    return lambda windows, asks: np.array([float(session.run(None, {"samples": row[None, -width:]})[0].reshape(-1)[0]) for row in windows.cpu().numpy()])


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
    parser.add_argument("--beside", type=pathlib.Path, nargs="*", default=[], help="graphs of other models, for comparison")
    parser.add_argument("--steps", type=int, default=2400)
    parser.add_argument("--limit", type=float, default=1e9, help="seconds of training")
    parser.add_argument("--alike", type=float, default=0.05, help="weight of how far two ways of hearing the same piece are apart")
    parser.add_argument("--blind", action="store_true", help="does not learn whether the words ask")
    parser.add_argument("--questions", type=int, default=1, help="how often questions are added")
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
    pauses = torch.tensor([note["comma"] for note in notes], device="cuda")
    asking = np.array([note["asks"] for note in notes])
    asks = torch.tensor(asking * (0.0 if given.blind else 2.0) - (0.0 if given.blind else 1.0), dtype=torch.float32, device="cuda")
    without = given.without.split(",")
    apart = np.array([note["author"] in without for note in notes])
    voices = np.array([note["speaker"] % HELD == 0 for note in notes])
    rows = {"voices held out": np.flatnonzero(voices & ~apart), "authors held out": np.flatnonzero(apart)}
    trained = np.flatnonzero(~voices & ~apart)
    truth = labels.cpu().numpy()
    # A drawn-out word before a pause of the speaker's own is the hardest case.
    commas = np.array([note["comma"] for note in notes])
    cuts, ends = (trained[truth[trained] == label] for label in (0, 1))
    more = lambda pool: [pool, *[pool[asking[pool]]] * given.questions]
    pools = [torch.tensor(np.concatenate(pool), device="cuda") for pool in ([*more(cuts), *more(cuts[commas[cuts]]) * given.commas], more(ends))]
    print("trained on", [len(pool) for pool in pools], {name: len(places) for name, places in rows.items()}, flush=True)
    model = Sound(given.dropout).cuda()
    print("parameters", sum(each.numel() for each in model.parameters()), flush=True)
    mean = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.998))
    optimizer = torch.optim.AdamW(model.parameters(), lr=given.rate, weight_decay=0.02)
    began = time.time()
    step, share = 0, 0.0
    while share < 1:
        for group in optimizer.param_groups:
            group["lr"] = given.rate * min(1, (step + 1) / 200) * (0.02 + 0.98 * (1 + math.cos(math.pi * share)) / 2)
        chosen = torch.cat([pool[torch.randint(len(pool), (given.batch // 4,), device="cuda")] for pool in pools])
        # Each piece is heard in two ways, which must not change what it means.
        twice = torch.cat([chosen, chosen])
        with torch.no_grad():
            windows = made_windows(pieces[twice], labels[twice], pauses[twice], True)
            masked = (torch.rand(len(twice), BANDS, 1, device="cuda") > 0.06).float()
            # A recogniser mishears questions.
            known = asks[chosen] * torch.randint(-1, 12, (len(chosen),), device="cuda").clamp(max=1)
        logits = model(windows, torch.cat([known, known]), masked).float()
        first, second = logits.chunk(2)
        loss = functional.binary_cross_entropy_with_logits(logits, labels[twice].float() * 0.96 + 0.02) + given.alike * (first - second).square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        mean.update_parameters(model)
        step += 1
        share = max(step / given.steps, (time.time() - began) / given.limit)
        if step % 500 == 0:
            places = rows["voices held out"]
            mean.eval()
            report(f"{step} {time.time() - began:.0f} s loss {loss.item():.3f}", truth[places], judge(mean, pieces[places], labels[places], pauses[places], asks[places], True))
    model = mean.module.eval()
    results = {"steps": step, "seed": given.seed, "trained": len(trained), "seconds": round(time.time() - began)}
    for name, places in rows.items():
        for hard in (False, True):
            logits = judge(model, pieces[places], labels[places], pauses[places], asks[places], hard)
            results[f"{name}, {'disturbed' if hard else 'clean'}"] = report(f"{name} {hard}", truth[places], logits)
            own = (truth[places] == 1) | commas[places]
            results[f"{name}, {'disturbed' if hard else 'clean'}, own pauses"] = report(f"{name} {hard}, own pauses", truth[places][own], logits[own])
    export(model, given.out)
    write_scores(model, given, notes, pieces, labels, pauses, asks, rows)
    places = rows["authors held out"][:: max(1, len(rows["authors held out"]) // 200)]
    ours = lambda windows, asks: ((model(windows, asks) + model(functional.pad(windows, (STEADY, 0))[:, :-STEADY], asks)) / 2).detach().cpu().numpy()
    judges = {"this model, one window": lambda windows, asks: model(windows, asks).detach().cpu().numpy(), "this model": ours, **{path.parent.name: by_file(path) for path in given.beside}}
    results["same sound"] = swings(judges, pieces[places], labels[places], pauses[places], asks[places])
    (given.out / "sound.json").write_text(json.dumps(results, indent=1))


def write_scores(model, given, notes, pieces, labels, pauses, asks, rows) -> None:
    """Logits of what was held out, for the layer that combines sound and text."""
    texts = {}
    if given.text:
        import onnxruntime
        from turns import encode, words_in

        session = onnxruntime.InferenceSession(str(given.text))
    with (given.out / "scores.jsonl").open("w") as file:
        for name, places in rows.items():
            clean, hard = (judge(model, pieces[places], labels[places], pauses[places], asks[places], disturbed) for disturbed in (False, True))
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

    steady = Steady(model.cpu().float().eval())
    path = out / "end-of-turn-sound.onnx"
    sample, asks = torch.randn(1, WINDOW + STEADY), torch.ones(1)
    torch.onnx.export(steady, (sample, asks), str(path), input_names=["samples", "asks"], output_names=["logit"], opset_version=17, dynamo=False)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(path), options)
    run = lambda: session.run(None, {"samples": sample.numpy(), "asks": asks.numpy()})[0]
    print("size", path.stat().st_size, "differs by", float(np.abs(run() - steady(sample, asks).detach().numpy()).max()))
    began = time.time()
    for _ in range(50):
        run()
    print(f"{(time.time() - began) * 20:.2f} ms a window", flush=True)
    model.cuda()


if __name__ == "__main__":
    main()
