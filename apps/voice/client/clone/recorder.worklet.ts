// Runs in the audio thread: posts every block of samples.
declare class AudioWorkletProcessor {
  readonly port: MessagePort;
}
declare function registerProcessor(name: string, processor: new () => AudioWorkletProcessor): void;

class Recorder extends AudioWorkletProcessor {
  process([input]: Float32Array[][]): boolean {
    const samples = input?.[0];
    if (samples !== undefined) this.port.postMessage(samples);
    return true;
  }
}

registerProcessor('recorder', Recorder);
