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
interface ModelFileView {
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

/** Where the value of an option comes from; a source wins over all that stand after it. */
export type SettingSource = 'flag' | 'environment' | '.env' | 'settings.yaml' | 'default';

/** One option of a service. */
export interface SettingView {
  /** The variable that sets it, in the environment, `.env` and settings.yaml. */
  variable: string;
  doc: string;
  /** Options under one heading belong together. */
  heading: string | null;
  /** What a value must be, as it ends the sentence "expected ...". */
  expected: string;
  /** The words of an option that takes one of some. */
  choices: string[] | null;
  isToggle: boolean;
  /** The default as one would write it; null where there is none. */
  default: string | null;
  /** Says what happens without a value where there is no fixed default. */
  defaultDoc: string | null;
  secret: boolean;
  /** As written where `source` says; null where nothing is set and there is no default. A secret is `set` or null. */
  value: string | null;
  source: SettingSource;
  /** Why settings.yaml cannot set it: another source wins, or it is needed to find the file. Null where it can. */
  fixed: string | null;
}

/** `GET /operator/settings`, and the answer of `PATCH`. */
export interface SettingsView {
  service: string;
  /** The path of settings.yaml. */
  file: string;
  settings: SettingView[];
  /** Why the newest version of the file does not count; null when it does. */
  problem: string | null;
}

/** `PATCH /operator/settings`: values by variable; null removes one. Variables of other services of the process are taken too. */
export type SettingsChange = Record<string, string | null>;

// What single services answer below /operator/setup, for the steps of the page at /setup that are theirs.

/** `GET /operator/setup/speech` of the voice service. */
export interface SpeechSetup {
  /** The letters that INPROC_LANG takes, and their names. */
  languages: { id: string; title: string }[];
  /** What INPROC_VOICE takes; `language` is one of the letters. */
  voices: { id: string; title: string; language: string }[];
  voice: string;
  /** Which voice speaks and why, where `voice` leaves the choice to the machine. */
  choice?: { voice: string; reason: string };
  language: string;
  /** TTS_BACKEND; the voices are those of `inprocess`. */
  backend: string;
}

/** `POST /operator/setup/speech/hear` of the voice service takes a form with the WAV file `audio`. */
export interface HeardSpeech {
  /** Empty where no speech was found. */
  text: string;
}

/** `POST /operator/setup/search` of the research service takes `{ query, url?, basicAuth?, braveApiKey?, tavilyApiKey? }`; without an address or a key the configured sources are asked. */
export interface SearchTrial {
  results: { title: string; url: string; snippet: string; source: string }[];
  /** Titles of the sources that answered. */
  answered: string[];
  /** In words, what went wrong with the others. */
  troubles: string[];
}

/** A surface that people can set up. */
export interface ConnectorView {
  name: string;
  /** The product: "Discord". */
  title: string;
  /** What to do at the product first. */
  guide: string;
  state: 'off' | 'waiting' | 'running' | 'failed';
  /** What the surface says about that state. */
  words: string | null;
  /** The outbound topic of a test message; null where none can be sent. `{place}` in it is what the person names: see `testTopicAt`. */
  testTopic: string | null;
  /** What the person names; null where a test message needs no place. */
  testPlace: { label: string; example: string } | null;
  fields: {
    variable: string;
    doc: string;
    secret: boolean;
    /** Has a default or is needed by few. */
    isOptional: boolean;
    /** As it counts now; of a secret only that it is set. */
    value: string | null;
    isSet: boolean;
  }[];
}

/** `GET /operator/setup/connectors` of the switchboard. */
export interface ConnectorsView {
  connectors: ConnectorView[];
}

/** `POST /operator/setup/connectors/:name/check` takes values by variable; what is left out counts as it is set. */
export interface ConnectorCheck {
  ok: boolean;
  words: string;
}

/** Of a test message; some products show the title. */
export const testMessage = {
  title: 'Test message from Trunkline',
  content: 'Hello from Trunkline. This is a test message.',
};

/** The topic of a test message to a place such as `octo/hello-world#12` or `ENG-12`. */
export function testTopicAt(topic: string, place: string): string {
  const segments = place.split(/[/#\s]+/).filter(Boolean);
  return topic.replace('{place}', () => segments.map(escaped).join('.'));
}

/** As the bus escapes a segment. */
function escaped(segment: string): string {
  return encodeURIComponent(segment).replace(/[.*]/g, (character) => (character === '.' ? '%2E' : '%2A'));
}

/** The morning digest that the setup offers. Its runs, the first of which is written at once, show in one chat. */
export const morningDigest = { id: 'morning-digest', time: '07:00', topics: 'technology, science' };

/** As `POST /api/scheduler/jobs` of the agent takes it. `time` is HH:MM. */
export function morningDigestJob({ time, topics, timezone }: Record<'time' | 'topics' | 'timezone', string>) {
  const [hours = 7, minutes = 0] = time.split(':').map(Number);
  const news =
    topics.trim() === '' ? '' : ` Then the most important news about ${topics.trim()}, with sources.`;
  return {
    prompt: `Write my morning digest. Begin with what is due today in my notes, tasks and schedules.${news} Keep it under 250 words.`,
    when: `${minutes} ${hours} * * *`,
    timezone,
    job_id: morningDigest.id,
    session_id: morningDigest.id,
  };
}
