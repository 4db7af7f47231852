// What the routes below /operator/setup take and answer, for the services that serve them and the page at /setup.

/** What models are used for: see docs/model.md. */
export type SetupRole = 'chat' | 'helper' | 'judge' | 'embeddings' | 'vision';

export type SetupStep = 'model' | 'speech' | 'search' | 'connector' | 'result';

export type StepState = 'done' | 'skipped' | 'open';

/** A provider of models, with what somebody needs to begin there. */
export interface ProviderPreset {
  id: string;
  title: string;
  /** Base address; parts in angle brackets are for the person to fill in. */
  url: string;
  /** Where a key is made. */
  keyPage?: string | undefined;
  needsKey: boolean;
  exampleModel: string;
  /** What to know before choosing it. */
  note?: string | undefined;
}

/** A model file in the folder `models` of TRUNKLINE_HOME. */
export interface ModelFileView {
  name: string;
  path: string;
  bytes: number;
}

/** A model server that runs on this machine. */
export interface FoundGateway {
  kind: 'ollama' | 'lmstudio' | 'llamacpp' | 'vllm' | 'other';
  title: string;
  url: string;
  models: string[];
  /** It is there and refuses to list its models without a key. */
  needsKey: boolean;
}

/** `POST /operator/setup/find`. */
export interface FoundGateways {
  gateways: FoundGateway[];
}

/** Where a model is. Without a key, the one that is stored for the same address counts. */
export interface ModelPlace {
  url: string;
  apiKey?: string | undefined;
}

/** `POST /operator/setup/models` takes a ModelPlace; a failure is an answer too. */
export interface ModelList {
  ok: boolean;
  /** The address as it counts: what the person left out is added, such as `/v1`. */
  url: string;
  models: string[];
  /** What went wrong, and what to do. */
  problem?: string | undefined;
}

/** `POST /operator/setup/test` takes a model at an address, or a model file of this machine. */
export type ModelUnderTest = (ModelPlace & { model: string }) | { file: string };

export interface ModelTest {
  /** Whether the model answers. */
  ok: boolean;
  /** One sentence about the result: what it can do, or what went wrong and what to do. */
  summary: string;
  findings: {
    subject: 'answer' | 'context' | 'tools' | 'images';
    ok: boolean;
    words: string;
  }[];
  contextTokens?: number | undefined;
  /** Milliseconds until the answer begins. */
  firstTokenMs?: number | undefined;
  tokensPerSecond?: number | undefined;
}

/** `PUT /operator/setup/model`. */
export type SavedModel =
  | {
      role: SetupRole;
      model: string;
      /** Of the chat model when left out, for other roles. */
      url?: string | undefined;
      apiKey?: string | undefined;
    }
  /** The chat model is this file. */
  | { role: 'chat'; file: string }
  /** The role has no model of its own any more. */
  | { role: SetupRole; model: null };

/** A model as it is set; the key itself never leaves the machine. */
export interface SetModel {
  model: string;
  url?: string | undefined;
  hasKey: boolean;
}

/** `GET /operator/setup`; `PUT /operator/setup/model` and `PUT /operator/setup/steps` answer with it too. */
export interface SetupView {
  service: string;
  steps: Record<SetupStep, StepState>;
  /** Which of the results the person chose. */
  result?: string | undefined;
  /** What models.yaml says, by role. */
  roles: Partial<Record<SetupRole, SetModel>>;
  /** The model file that would be used. */
  file?: string | undefined;
  /** Settings that win over models.yaml, in words with what to do. */
  overrides: { setting: string; role: SetupRole; words: string }[];
  providers: ProviderPreset[];
  /** Model files in the folder `models` of TRUNKLINE_HOME. */
  files: ModelFileView[];
  /** The path of that folder, which need not be there. */
  folder: string;
}

/** `PUT /operator/setup/steps`: what is not named stays. */
export interface SetupSteps {
  steps: Partial<Record<SetupStep, StepState>>;
  result?: string | undefined;
}
