import {
  choice,
  defineOptions,
  directory,
  fetchOptions,
  file,
  group,
  homeOptions,
  hostOptions,
  integer,
  list,
  logOptions,
  modelOptions,
  type OptionSet,
  type OptionsOf,
  type OptionTable,
  oidcOptions,
  pairingOptions,
  pushOptions,
  sandboxOptions,
  text,
  toggle,
  tracingOptions,
  url,
} from '@trunkline/config';
import { pluginModules } from './plugins/plugin-modules.ts';
import type { ToolModule } from './tools/tool-module.ts';
import { toolModules } from './tools/tool-modules.ts';

const serviceOptions = group('Service', {
  port: integer({
    env: 'AGENT_PORT',
    flag: '--port',
    default: 7870,
    min: 0,
    max: 65_535,
    doc: 'Port of the service.',
  }),
  host: text({ env: 'CORE_HOST', flag: '--host', default: '127.0.0.1', doc: 'Address to listen on.' }),
  agentName: text({
    env: 'AGENT_NAME',
    default: 'trunkline-agent',
    check: (name) => /[a-z0-9]/i.test(name),
    expected: 'a name with a letter or digit in it',
    doc: 'Name of the agent: prefix of the metrics, label of logs and traces. A key in <AGENT_NAME>_API_KEY (upper case, other characters as underscore) is expected as X-API-Key.',
  }),
  ui: choice({
    env: 'CORE_UI',
    flag: '--ui',
    values: ['full', 'console', 'none'],
    default: 'full',
    doc: 'Which pages are served: all, the console at /app alone, or none.',
  }),
  headless: toggle({
    env: 'CORE_HEADLESS',
    flag: '--headless',
    default: false,
    doc: 'Old name for CORE_UI=console.',
  }),
  setup: toggle({
    flag: '--setup',
    default: false,
    doc: 'Checks the configuration, writes .setup-complete and ends.',
  }),
  headlessSetup: toggle({
    env: 'CORE_HEADLESS_SETUP',
    default: false,
    doc: 'Completes the setup at start when the configuration is valid.',
  }),
  parkedTasks: choice({
    env: 'CORE_PARKED_TASKS',
    values: ['keep', 'fail'],
    default: 'keep',
    doc: 'What a restart does to tasks that wait for an answer.',
  }),
});

const fileOptions = group('Files', {
  configDirectory: directory({
    env: 'CORE_CONFIG_DIR',
    doc: 'Holds the live configuration, secrets.yaml, .setup-complete, skills/ and plugins/.',
    defaultDoc: 'agent/config under TRUNKLINE_HOME',
  }),
  configFile: file({
    flag: '--config',
    doc: 'The live configuration.',
    defaultDoc: 'agent.yaml in CORE_CONFIG_DIR',
  }),
  workspace: directory({
    env: 'CORE_WORKSPACE',
    doc: 'The one directory that the file tools may touch.',
    defaultDoc: 'agent/workspace under TRUNKLINE_HOME',
  }),
  instance: text({
    env: 'CORE_INSTANCE',
    doc: 'Keeps the data of several agents apart: each store gets a folder of this name.',
    defaultDoc: 'instance.id of the configuration',
  }),
  memoryPath: sandboxed(directory, 'MEMORY_PATH', 'memory', 'Directory of session summaries.'),
  disableMemory: toggle({
    env: 'CORE_DISABLE_MEMORY',
    default: false,
    anyValue: true,
    doc: 'Any value stops session summaries from being written; those there are still read.',
  }),
  knowledgeDbPath: file({
    env: 'KNOWLEDGE_DB_PATH',
    doc: 'The knowledge store.',
    defaultDoc: 'knowledge.db_path of the configuration',
  }),
  notesPath: sandboxed(file, 'NOTES_PATH', 'notes/workspace.json', 'The notes.'),
  beadsDbPath: sandboxed(file, 'BEADS_DB_PATH', 'beads/issues.db', 'The task board.'),
  goalPath: sandboxed(directory, 'GOAL_PATH', 'goals', 'Directory of goals.'),
  auditPath: sandboxed(file, 'AUDIT_PATH', 'audit/audit.jsonl', 'The log of tool calls.'),
});

const accessOptions = group('Access', {
  authToken: text({
    env: 'A2A_AUTH_TOKEN',
    secret: true,
    doc: 'Bearer token that everything which drives the agent asks for.',
    defaultDoc: 'auth.token of the configuration; without it the agent is open',
  }),
  operatorToken: text({
    env: 'CORE_OPERATOR_TOKEN',
    secret: true,
    doc: 'Bearer token of the console and the operator API (/api and /mcp), so that A2A_AUTH_TOKEN opens A2A and /v1 alone.',
    defaultDoc: 'A2A_AUTH_TOKEN',
  }),
  requireAuth: toggle({
    env: 'CORE_REQUIRE_AUTH',
    default: false,
    doc: 'Refuses to listen beyond loopback without a token.',
  }),
  publicUrl: url({
    env: 'A2A_PUBLIC_URL',
    doc: 'Address under which others reach the service.',
    defaultDoc: 'the address it listens on',
  }),
  allowedOrigins: list({
    env: 'A2A_ALLOWED_ORIGINS',
    default: [],
    doc: 'Origins whose pages may read streams; * stands for all.',
  }),
});

const schedulerOptions = group('Scheduler', {
  schedulerBackend: text({
    env: 'SCHEDULER_BACKEND',
    default: 'local',
    doc: 'switchboard hands schedules to a remote scheduler; anything else keeps them here.',
  }),
  switchboardApiBase: url({ env: 'SWITCHBOARD_API_BASE', doc: 'Address of the remote scheduler.' }),
  switchboardApiKey: text({ env: 'SWITCHBOARD_API_KEY', secret: true, doc: 'Key of the remote scheduler.' }),
  switchboardTopicPrefix: text({
    env: 'SWITCHBOARD_TOPIC_PREFIX',
    doc: 'Topic on which remote schedules fire.',
    defaultDoc: 'cron.<AGENT_NAME>',
  }),
  schedulerDbDirectory: sandboxed(
    directory,
    'SCHEDULER_DB_DIR',
    'scheduler',
    'Parent of <AGENT_NAME>/jobs.db.',
  ),
  schedulerInvokeUrl: url({
    env: 'SCHEDULER_INVOKE_URL',
    doc: 'Where a job that fires is sent as a message.',
    defaultDoc: 'this service',
  }),
  schedulerFireTimeoutS: integer({
    env: 'SCHEDULER_FIRE_TIMEOUT_S',
    default: 600,
    min: 1,
    doc: 'Seconds that a fired job may take.',
  }),
  schedulerDisabled: toggle({ env: 'SCHEDULER_DISABLED', default: false, doc: 'Drops the schedule tools.' }),
});

const ownOptions = {
  ...serviceOptions,
  ...fileOptions,
  ...accessOptions,
  ...schedulerOptions,
  ...modelOptions,
  ...group('Model', {
    coreModel: text({
      env: 'CORE_MODEL',
      doc: 'Model of the agent, before model.name of its configuration and LLM_MODEL.',
    }),
  }),
};

const sharedOptions = {
  ...tracingOptions,
  ...fetchOptions,
  ...sandboxOptions,
  ...pushOptions,
  ...hostOptions,
  ...homeOptions,
  ...oidcOptions,
  ...logOptions,
  ...pairingOptions,
};

type AgentTable = OptionTable<typeof ownOptions & typeof sharedOptions>;
export type AgentOptions = OptionsOf<AgentTable>;

/** The settings of the service, its plugins and its tools. */
export function createAgentOptions(modules: readonly ToolModule[]): AgentTable {
  const declared: OptionSet = Object.assign(
    {},
    ...[...pluginModules, ...modules].map(({ options }) => options),
  );
  const options = { ...ownOptions, ...declared, ...sharedOptions };
  return defineOptions('agent', 'Agent: tasks behind the A2A protocol', options);
}

export const agentOptions = createAgentOptions(toolModules);

/** A path that has its place in the image's /sandbox, and under the home of all data elsewhere. */
function sandboxed(make: typeof file, env: string, place: string, doc: string) {
  return make({
    env,
    doc,
    defaultDoc: `/sandbox/${place} where /sandbox exists, else under TRUNKLINE_HOME`,
  });
}
