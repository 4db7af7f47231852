// The part of node-llama-cpp 3.21 that is used here: the package is optional, and the types are checked without it too.
declare module 'node-llama-cpp' {
  type ScalarType = 'string' | 'number' | 'integer' | 'boolean' | 'null';
  type Scalar = string | number | boolean | null;

  export type GbnfJsonSchema = { readonly description?: string } & (
    | { readonly type: ScalarType | readonly ScalarType[] }
    | { readonly type: 'string'; readonly format: 'date-time' | 'time' | 'date' }
    | { readonly type: 'string'; readonly minLength?: number; readonly maxLength?: number }
    | { readonly const: Scalar }
    | { readonly enum: readonly Scalar[] }
    | { readonly oneOf: readonly GbnfJsonSchema[] }
    | {
        readonly type: 'object';
        readonly properties?: Readonly<Record<string, GbnfJsonSchema>>;
        readonly additionalProperties?: boolean | GbnfJsonSchema;
      }
    | {
        readonly type: 'array';
        readonly items?: GbnfJsonSchema;
        readonly minItems?: number;
        readonly maxItems?: number;
      }
  );

  export interface ChatModelFunctionCall {
    type: 'functionCall';
    name: string;
    params: unknown;
    result: unknown;
    /** Whether it begins a group of calls that were made together. */
    startsNewChunk?: boolean;
  }

  export type ChatHistoryItem =
    | { type: 'system' | 'user'; text: string }
    | { type: 'model'; response: (string | ChatModelFunctionCall)[] };

  export type ChatModelFunctions = Readonly<
    Record<string, { readonly description?: string; readonly params?: GbnfJsonSchema | null }>
  >;

  interface LlamaText {
    tokenize(tokenizer: unknown): number[];
    toString(): string;
  }

  export interface ChatWrapper {
    generateContextState(options: {
      chatHistory: readonly ChatHistoryItem[];
      availableFunctions?: ChatModelFunctions;
      documentFunctionParams?: boolean;
    }): { contextText: LlamaText };
    generateAvailableFunctionsSystemText(
      functions: ChatModelFunctions,
      options: { documentParams?: boolean },
    ): LlamaText;
  }

  export interface GgufFileInfo {
    metadata: { general: { architecture: string } };
    architectureMetadata: { context_length?: number };
  }

  export interface LlamaGrammar {
    readonly grammar: string;
  }

  interface TokenCounts {
    usedInputTokens: number;
    usedOutputTokens: number;
  }

  interface LlamaContextSequence {
    readonly contextSize: number;
    readonly contextTokens: readonly number[];
    readonly tokenMeter: { getState(): TokenCounts; diff(before: TokenCounts): TokenCounts };
  }

  export interface LlamaModel {
    readonly trainContextSize: number;
    readonly fileInfo: GgufFileInfo;
    readonly tokenizer: unknown;
    createContext(options: {
      sequences: number;
      contextSize: number | { max: number };
      threads?: number;
    }): Promise<{ readonly contextSize: number; getSequence(): LlamaContextSequence }>;
  }

  export interface Llama {
    loadModel(options: {
      modelPath: string;
      onLoadProgress?: (fraction: number) => void;
    }): Promise<LlamaModel>;
    getGrammarFor(type: 'json'): Promise<LlamaGrammar>;
    createGrammarForJsonSchema(schema: GbnfJsonSchema): Promise<LlamaGrammar>;
  }

  export interface LlamaChatResponseChunk {
    /** Undefined in the answer itself. */
    segmentType: 'thought' | 'comment' | undefined;
    text: string;
  }

  export interface RepeatPenalty {
    /** A factor; 1 is none. */
    penalty: number;
    frequencyPenalty: number;
    presencePenalty: number;
  }

  interface GenerateOptions {
    signal?: AbortSignal;
    maxTokens?: number;
    temperature?: number;
    topP?: number;
    seed?: number;
    customStopTriggers?: readonly string[];
    repeatPenalty?: RepeatPenalty | false;
    onResponseChunk?: (chunk: LlamaChatResponseChunk) => void;
    grammar?: LlamaGrammar;
    functions?: ChatModelFunctions;
    documentFunctionParams?: boolean;
    maxParallelFunctionCalls?: number;
  }

  export class LlamaChat {
    constructor(options: { contextSequence: LlamaContextSequence; chatWrapper: ChatWrapper });
    readonly sequence: LlamaContextSequence;
    generateResponse(
      history: ChatHistoryItem[],
      options: GenerateOptions,
    ): Promise<{
      response: string;
      functionCalls?: { functionName: string; params: unknown }[];
      metadata: { stopReason: string };
    }>;
  }

  export function getLlama(options: {
    build: 'never';
    skipDownload: boolean;
    progressLogs: boolean;
    logger(level: string, message: string): void;
  }): Promise<Llama>;
  export function resolveChatWrapper(model: LlamaModel): ChatWrapper;
  export function readGgufFileInfo(
    path: string,
    options: { sourceType: 'filesystem'; logWarnings: boolean },
  ): Promise<GgufFileInfo>;
}
