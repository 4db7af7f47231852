/** The package has no types of its own; these are the parts that are used. */
declare module 'sherpa-onnx-node' {
  interface OfflineTtsConfig {
    model: {
      vits: { model: string; tokens: string; dataDir: string; noiseScale: number; noiseScaleW: number };
      numThreads: number;
      provider: 'cpu';
    };
    maxNumSentences: number;
  }

  interface Runtime {
    OfflineTts: new (
      config: OfflineTtsConfig,
    ) => {
      generate(request: { text: string; sid: number; speed: number; enableExternalBuffer: boolean }): {
        samples: Float32Array;
        sampleRate: number;
      };
    };
  }

  const runtime: Runtime;
  export default runtime;
}
