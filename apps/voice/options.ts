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
  oidcOptions,
  sandboxOptions,
  text,
  toggle,
  url,
} from '@trunkline/config';
import { iceServersSchema, portRangeOf } from './media/peer.ts';
import { verbosityLevels } from './skills/skill.ts';
import { backendOptions, recognitionBackends, synthesisBackends } from './speech/backends/registry.ts';

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

/** The backends' own settings are in their files. */
const speech = {
  ...group('Speech recognition', {
    sttBackend: choice({
      env: 'STT_BACKEND',
      values: recognitionBackends,
      default: 'local',
      doc: 'Who turns speech into text: the model on this machine, or an endpoint.',
    }),
  }),
  ...group('Speech output', {
    ttsBackend: choice({
      env: 'TTS_BACKEND',
      values: synthesisBackends,
      default: 'sidecar',
      doc: 'Who speaks.',
    }),
  }),
  ...backendOptions,
  ...group('Speech output', {
    translatorPort: integer({
      env: 'TRANSLATOR_PORT',
      min: 0,
      max: 65_535,
      doc: 'Port of an OpenAI-style speech endpoint in front of the sidecar; by custom 8093.',
      defaultDoc: 'no such endpoint',
    }),
  }),
};

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
    env: ['PORT', 'VOICE_PORT'],
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
  ...speech,
  ...audio,
  ...connection,
  ...modelOptions,
  ...fetchOptions,
  ...sandboxOptions,
  ...hostOptions,
  ...homeOptions,
  ...oidcOptions,
  ...logOptions,
});

export type VoiceOptions = OptionsOf<typeof voiceOptions>;
