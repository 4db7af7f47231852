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
  pushOptions,
  text,
  toggle,
  tracingOptions,
  url,
} from '@trunkline/config';
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
  memoryPath: sandboxed('MEMORY_PATH', 'memory', 'Directory of session summaries.'),
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
  notesPath: file({
    env: 'NOTES_PATH',
    doc: 'The notes.',
    defaultDoc: '/sandbox/notes/workspace.json where /sandbox exists, else under TRUNKLINE_HOME',
  }),
  beadsDbPath: file({
    env: 'BEADS_DB_PATH',
    doc: 'The task board.',
    defaultDoc: '/sandbox/beads/issues.db where /sandbox exists, else under TRUNKLINE_HOME',
  }),
  goalPath: sandboxed('GOAL_PATH', 'goals', 'Directory of goals.'),
  auditPath: file({
    env: 'AUDIT_PATH',
    doc: 'The log of tool calls.',
    defaultDoc: '/sandbox/audit/audit.jsonl where /sandbox exists, else under TRUNKLINE_HOME',
  }),
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
  schedulerDbDirectory: sandboxed('SCHEDULER_DB_DIR', 'scheduler', 'Parent of <AGENT_NAME>/jobs.db.'),
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

const pluginOptions = group('Plugins', {
  chatBotToken: text({ env: 'CHAT_BOT_TOKEN', secret: true, doc: 'Token of the chat plugin.' }),
  chatAdminIds: list({ env: 'CHAT_ADMIN_IDS', default: [], doc: 'Users who may write to the bot directly.' }),
  cloudClientId: text({ env: 'CLOUD_CLIENT_ID', doc: 'OAuth client of the cloud plugin.' }),
  cloudClientSecret: text({ env: 'CLOUD_CLIENT_SECRET', secret: true, doc: 'Secret of that client.' }),
  cloudTokenPath: file({
    env: 'CLOUD_TOKEN_PATH',
    doc: 'Where the OAuth token is kept.',
    defaultDoc: 'cloud-token.json in CORE_CONFIG_DIR',
  }),
  cloudTimeZone: text({
    env: 'CLOUD_TZ',
    doc: 'Time zone in which a day begins and ends, as Europe/Berlin.',
    defaultDoc: 'UTC',
  }),
  repoToken: text({
    env: ['REPO_TOKEN', 'REPO_CLI_TOKEN'],
    secret: true,
    doc: 'Token of the code-host plugin.',
  }),
});

const ownOptions = {
  ...serviceOptions,
  ...fileOptions,
  ...accessOptions,
  ...schedulerOptions,
  ...pluginOptions,
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
  ...pushOptions,
  ...hostOptions,
  ...homeOptions,
  ...logOptions,
};

type AgentTable = OptionTable<typeof ownOptions & typeof sharedOptions>;
export type AgentOptions = OptionsOf<AgentTable>;

/** The settings of the service and of its tools. */
export function createAgentOptions(modules: readonly ToolModule[]): AgentTable {
  const toolOptions: OptionSet = Object.assign({}, ...modules.map(({ options }) => options));
  const options = { ...ownOptions, ...toolOptions, ...sharedOptions };
  return defineOptions('agent', 'Agent: tasks behind the A2A protocol', options);
}

export const agentOptions = createAgentOptions(toolModules);

/** A directory that has its place in the image's /sandbox, and under the home of all data elsewhere. */
function sandboxed(env: string, name: string, doc: string) {
  return directory({
    env,
    doc,
    defaultDoc: `/sandbox/${name} where /sandbox exists, else under TRUNKLINE_HOME`,
  });
}
