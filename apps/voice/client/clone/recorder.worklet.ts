// Runs beside the sound of the browser: hands on every block of samples as it comes.
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
