import { useCallback, useEffect, useRef, useState } from 'react';
import { problemIn } from '../call/problems.ts';
import { closeStream, loudness, openMicrophone } from '../call/sound.ts';
import workletUrl from './recorder.worklet.ts?worker&url';

const HEADER_BYTES = 44;

export const SHORTEST_SECONDS = 10;
export const LONGEST_SECONDS = 30;
const LOOK_EVERY_MS = 80;

export interface RecorderHook {
  phase: 'empty' | 'recording' | 'ready';
  seconds: number;
  level: number;
  recording: Recording | undefined;
  /** Why it could not be recorded. */
  problem: string | undefined;
  start(): void;
  stop(): void;
  clear(): void;
}

/** Records from the microphone, at most as long as the service takes. */
export function useRecorder(microphoneId: string | undefined): RecorderHook {
  const recorder = useRef<Recorder | undefined>(undefined);
  const asking = useRef(false);
  const isLeft = useRef(false);
  const [running, setRunning] = useState(false);
  const [seen, setSeen] = useState({ seconds: 0, level: 0 });
  const [recording, setRecording] = useState<Recording | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);

  const stop = useCallback(async () => {
    const running = recorder.current;
    recorder.current = undefined;
    setRunning(false);
    if (running !== undefined) setRecording(await running.stop());
  }, []);
  const start = async () => {
    if (asking.current) return;
    asking.current = true;
    setRecording(undefined);
    setProblem(undefined);
    try {
      recorder.current = await startRecorder(microphoneId);
      if (isLeft.current) await stop();
      else setRunning(true);
    } catch (error) {
      const { what, todo } = problemIn(error);
      setProblem(`${what} ${todo}`);
    } finally {
      asking.current = false;
    }
  };
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => {
      const seconds = recorder.current?.seconds() ?? 0;
      setSeen({ seconds, level: recorder.current?.level() ?? 0 });
      if (seconds >= LONGEST_SECONDS - 0.2) void stop();
    }, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [running, stop]);
  // A drawer that is closed lets the microphone go, also one that the browser gives only then.
  useEffect(() => {
    isLeft.current = false;
    return () => {
      isLeft.current = true;
      void recorder.current?.stop();
    };
  }, []);

  return {
    phase: running ? 'recording' : recording === undefined ? 'empty' : 'ready',
    seconds: running ? seen.seconds : (recording?.seconds ?? 0),
    level: running ? seen.level : 0,
    recording,
    problem,
    start: () => void start(),
    stop: () => void stop(),
    clear: () => setRecording(undefined),
  };
}

// Records the microphone as a WAV file: the browser's own recorder makes files that the service cannot read.

interface Recording {
  audio: Blob;
  seconds: number;
}

interface Recorder {
  /** Seconds so far. */
  seconds(): number;
  /** How loud it is now, 0 to 1. */
  level(): number;
  stop(): Promise<Recording>;
}

/** Records until it is stopped; fails with a CallProblem where there is no microphone. */
async function startRecorder(microphoneId: string | undefined): Promise<Recorder> {
  const stream = await openMicrophone(microphoneId);
  const context = new AudioContext();
  try {
    await context.audioWorklet.addModule(workletUrl);
  } catch (error) {
    closeStream(stream);
    await context.close();
    throw error;
  }
  const source = context.createMediaStreamSource(stream);
  const node = new AudioWorkletNode(context, 'recorder', { numberOfOutputs: 0 });
  const analyser = context.createAnalyser();
  analyser.fftSize = 512;
  source.connect(node);
  source.connect(analyser);
  const blocks: Float32Array[] = [];
  let samples = 0;
  node.port.onmessage = ({ data }: MessageEvent<Float32Array>) => {
    blocks.push(data);
    samples += data.length;
  };
  return {
    seconds: () => samples / context.sampleRate,
    level: () => loudness(analyser),
    async stop() {
      closeStream(stream);
      node.port.onmessage = null;
      await context.close();
      return { audio: encodeWav(blocks, context.sampleRate), seconds: samples / context.sampleRate };
    },
  };
}

/** A WAV file of 16-bit mono samples. */
export function encodeWav(blocks: readonly Float32Array[], sampleRate: number): Blob {
  const length = blocks.reduce((sum, block) => sum + block.length, 0);
  const view = new DataView(new ArrayBuffer(HEADER_BYTES + length * 2));
  writeHeader(view, length * 2, sampleRate);
  let at = HEADER_BYTES;
  for (const block of blocks) {
    for (const sample of block) {
      view.setInt16(at, Math.max(-1, Math.min(1, sample)) * 0x7fff, true);
      at += 2;
    }
  }
  return new Blob([view.buffer], { type: 'audio/wav' });
}

function writeHeader(view: DataView, bytes: number, sampleRate: number): void {
  const put = (at: number, text: string) => {
    for (let index = 0; index < text.length; index += 1) view.setUint8(at + index, text.charCodeAt(index));
  };
  put(0, 'RIFF');
  view.setUint32(4, HEADER_BYTES - 8 + bytes, true);
  put(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  put(36, 'data');
  view.setUint32(40, bytes, true);
}
