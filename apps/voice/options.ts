import {
  choice,
  decimal,
  defineOptions,
  directory,
  fetchOptions,
  file,
  group,
  homeOptions,
  hostOptions,
  integer,
  json,
  list,
  logOptions,
  modelOptions,
  type OptionsOf,
  text,
  toggle,
  url,
} from '@trunkline/config';
import { iceServersSchema, portRangeOf } from './media/ice.ts';
import { speechBackends } from './skills/schema.ts';
import { verbosityLevels } from './skills/verbosity.ts';
import { languageLetters } from './speech/synthesis/inprocess/presets.ts';

const filesAndUsers = group('Files and users', {
  configDir: directory({
    env: 'CONFIG_DIR',
    doc: 'Where skills, SOUL.md, users.yaml and delegates.yaml stand; seeded with examples on the first run.',
    defaultDoc: 'config in the data folder of the service',
  }),
  usersYaml: file({
    env: 'USERS_YAML',
    doc: 'The roster: who may call, and with which key.',
    defaultDoc: 'users.yaml in CONFIG_DIR',
  }),
  delegatesYaml: file({
    env: 'DELEGATES_YAML',
    doc: 'File that names whom the assistant may ask.',
    defaultDoc: 'delegates.yaml in CONFIG_DIR',
  }),
  mcpYaml: file({
    env: 'MCP_YAML',
    doc: 'File that lists MCP servers whose tools the assistant may use.',
    defaultDoc: 'mcp.yaml in CONFIG_DIR',
  }),
  sessionStoreDir: directory({
    env: 'SESSION_STORE_DIR',
    doc: 'Where choices of users and news that wait for them are kept.',
    defaultDoc: 'the data folder of the service',
  }),
  verbosity: choice({
    env: 'VERBOSITY',
    values: verbosityLevels,
    ignoreCase: true,
    default: 'brief',
    doc: 'How much is said around an answer, for users who have chosen nothing.',
  }),
});

const secrets = group('Secrets manager', {
  secretsApiUrl: url({
    env: 'SECRETS_API_URL',
    default: 'https://app.infisical.com',
    doc: "Address of a secrets manager with Infisical's API.",
  }),
  secretsClientId: text({
    env: 'SECRETS_CLIENT_ID',
    doc: 'Client that reads the roster of users. With the secret and the project set too, it is used instead of users.yaml.',
  }),
  secretsClientSecret: text({ env: 'SECRETS_CLIENT_SECRET', secret: true, doc: 'Secret of that client.' }),
  secretsProjectId: text({ env: 'SECRETS_PROJECT_ID', doc: 'Project that holds the secret USERS_YAML.' }),
  secretsEnvironment: text({
    env: 'SECRETS_ENVIRONMENT',
    default: 'prod',
    doc: 'Environment of that project.',
  }),
  secretsPath: text({ env: 'SECRETS_PATH', default: '/', doc: 'Folder of the secret.' }),
});

const model = group('Model of the voice', {
  llmUrl: url({
    env: 'LLM_URL',
    doc: 'Address of the model that speaks.',
    defaultDoc: 'the value of LLM_GATEWAY_URL',
  }),
  llmMaxTokens: integer({
    env: 'LLM_MAX_TOKENS',
    default: 150,
    min: 1,
    doc: 'Tokens of one reply, where the skill does not say.',
  }),
  llmTemperature: decimal({
    env: 'LLM_TEMPERATURE',
    default: 0.7,
    min: 0,
    max: 2,
    doc: 'Sampling temperature, where the skill does not say.',
  }),
});

const agent = group('Agent to agent', {
  agentName: text({ env: 'AGENT_NAME', default: 'voice', doc: 'Name on the agent card.' }),
  publicUrl: url({
    env: 'PUBLIC_URL',
    doc: 'Address under which others reach the service; delegates send late answers there.',
    defaultDoc: 'the address it listens on',
  }),
  a2aAuthToken: text({
    env: 'A2A_AUTH_TOKEN',
    secret: true,
    doc: 'Callers of /a2a, its callback and the card must show it, as X-API-Key or bearer token.',
    defaultDoc: 'open to all',
  }),
  a2aAllowedOrigins: list({
    env: 'A2A_ALLOWED_ORIGINS',
    default: [],
    doc: 'Origins whose pages may read streams; * stands for all.',
  }),
  a2aUserId: text({
    env: 'A2A_USER_ID',
    default: 'default',
    doc: 'The user as whom messages to /a2a are answered.',
  }),
  researchUrl: url({
    env: 'RESEARCH_URL',
    doc: 'Address of the research service, for deep_research, where it runs as a service of its own.',
    defaultDoc: 'the one that npm start runs, or the delegate named research',
  }),
  researchAuthToken: text({
    env: 'RESEARCH_AUTH_TOKEN',
    secret: true,
    doc: 'Token of that service.',
  }),
  searxngUrl: url({
    env: 'SEARXNG_URL',
    doc: 'Address of a SearXNG server, for web_search.',
  }),
});

const recognition = group('Speech recognition', {
  sttBackend: choice({
    env: 'STT_BACKEND',
    values: ['local', 'compat'],
    default: 'local',
    doc: 'Who turns speech into text: the model on this machine, or an endpoint.',
  }),
  sttUrl: url({ env: 'STT_URL', doc: 'Base address of a compatible transcription endpoint.' }),
  sttModel: text({ env: 'STT_MODEL', default: 'whisper-1', doc: 'Model of that endpoint.' }),
  sttApiKey: text({ env: 'STT_API_KEY', secret: true, doc: 'Key of that endpoint.' }),
  sttModelDir: directory({
    env: 'STT_MODEL_DIR',
    doc: 'Weights of the local model.',
    defaultDoc: 'the ones that npm ci installs',
  }),
});

const speech = group('Speech output', {
  ttsBackend: choice({
    env: 'TTS_BACKEND',
    values: speechBackends,
    default: 'sidecar',
    doc: 'Who speaks.',
  }),
  sidecarUrl: url({
    env: 'SIDECAR_URL',
    default: 'http://127.0.0.1:8092',
    doc: 'Address of the speech sidecar.',
  }),
  sidecarReferenceId: text({ env: 'SIDECAR_REFERENCE_ID', doc: 'Saved voice that speaks.' }),
  sidecarSampleRate: integer({
    env: 'SIDECAR_SAMPLE_RATE',
    default: 44_100,
    min: 8000,
    max: 192_000,
    doc: 'Samples a second that the sidecar gives.',
  }),
  sidecarTimeout: decimal({
    env: 'SIDECAR_TIMEOUT',
    default: 180,
    min: 1,
    doc: 'Seconds that one call may take; a cold start takes about two minutes.',
  }),
  inprocVoice: text({
    env: 'INPROC_VOICE',
    default: 'af_heart',
    doc: 'Preset of the local voice; piper, or piper:0 to piper:903, is a faster and plainer voice for small machines.',
  }),
  inprocLang: choice({
    env: 'INPROC_LANG',
    values: languageLetters,
    default: 'a',
    doc: 'Language of that preset: a American English, b British English, e Spanish, f French, h Hindi, i Italian, j Japanese, p Portuguese, z Chinese.',
  }),
  ttsCompatUrl: url({
    env: 'TTS_COMPAT_URL',
    default: 'https://api.openai.com/v1',
    doc: 'Base address of a compatible speech endpoint.',
  }),
  ttsCompatModel: text({ env: 'TTS_COMPAT_MODEL', default: 'tts-1', doc: 'Model of that endpoint.' }),
  ttsCompatVoice: text({ env: 'TTS_COMPAT_VOICE', default: 'alloy', doc: 'Voice of that endpoint.' }),
  ttsCompatApiKey: text({
    env: 'TTS_COMPAT_API_KEY',
    secret: true,
    default: 'not-needed',
    doc: 'Key of that endpoint.',
  }),
  ttsCompatSampleRate: integer({
    env: 'TTS_COMPAT_SAMPLE_RATE',
    default: 24_000,
    min: 8000,
    max: 192_000,
    doc: 'Samples a second that the endpoint gives.',
  }),
  translatorPort: integer({
    env: 'TRANSLATOR_PORT',
    min: 0,
    max: 65_535,
    doc: 'Port of an OpenAI-style speech endpoint in front of the sidecar; by custom 8093.',
    defaultDoc: 'no such endpoint',
  }),
});

const audio = group('Audio', {
  halfDuplex: toggle({
    env: 'HALF_DUPLEX',
    default: false,
    doc: 'Do not listen while speaking, for loudspeakers without echo cancellation.',
  }),
  echoGuardMs: integer({
    env: 'ECHO_GUARD_MS',
    default: 300,
    min: 0,
    doc: 'How long after speaking the microphone stays closed in half duplex.',
  }),
  noiseFilter: choice({
    env: 'NOISE_FILTER',
    values: ['off', 'rnnoise'],
    default: 'off',
    doc: 'Filter of the microphone.',
  }),
  smartTurn: choice({
    env: 'SMART_TURN',
    values: ['off', 'local'],
    default: 'off',
    doc: 'A model that tells whether the speaker has finished.',
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
    doc: 'STUN and TURN servers, as a JSON list in the form browsers take; clients get them from /api/ice.',
  }),
  icePortRange: text({
    env: 'ICE_PORT_RANGE',
    check: (given) => portRangeOf(given) !== undefined,
    expected: 'two ports from 1 to 65535, such as 40000-40100',
    doc: 'UDP ports that calls use, such as 40000-40100, for firewalls.',
    defaultDoc: 'any free port',
  }),
  maxCalls: integer({
    env: 'MAX_CALLS',
    default: 32,
    min: 1,
    max: 1000,
    doc: 'Calls that may be open at the same time.',
  }),
});

export const voiceOptions = defineOptions('voice', 'Voice: a spoken conversation in the browser', {
  port: integer({
    env: 'PORT',
    flag: '--port',
    default: 7866,
    min: 0,
    max: 65_535,
    doc: 'Port of the service.',
  }),
  host: text({ env: 'VOICE_HOST', flag: '--host', default: '127.0.0.1', doc: 'Address to listen on.' }),
  ...filesAndUsers,
  ...secrets,
  ...model,
  ...agent,
  ...recognition,
  ...speech,
  ...audio,
  ...connection,
  ...modelOptions,
  ...fetchOptions,
  ...hostOptions,
  ...homeOptions,
  ...logOptions,
});

export type VoiceOptions = OptionsOf<typeof voiceOptions>;
