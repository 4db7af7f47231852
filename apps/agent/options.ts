import {
  choice,
  contentOptions,
  defineOptions,
  directory,
  fetchOptions,
  file,
  group,
  grpcOptions,
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
    doc: 'Port of the agent service.',
  }),
  host: text({
    env: 'CORE_HOST',
    flag: '--host',
    default: '127.0.0.1',
    doc: 'Address the agent listens on. 0.0.0.0 listens on all; set A2A_AUTH_TOKEN first.',
  }),
  agentName: text({
    env: 'AGENT_NAME',
    default: 'trunkline-agent',
    check: (name) => /[a-z0-9]/i.test(name),
    expected: 'a name with a letter or digit in it',
    doc: 'Name of the agent: on the agent cards of voice and the agent, in metrics, logs and traces. If <AGENT_NAME>_API_KEY is set (upper case, other characters as underscores), the agent asks callers for that key as X-API-Key. If you change the name, the schedules of the agent move with it.',
  }),
  ui: choice({
    env: 'CORE_UI',
    flag: '--ui',
    values: ['full', 'console', 'none'],
    default: 'full',
    doc: 'Pages the agent serves: full (chat and console), console (only /app) or none.',
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
    doc: 'Checks the configuration, marks the set-up as complete and exits.',
  }),
  headlessSetup: toggle({
    env: 'CORE_HEADLESS_SETUP',
    default: false,
    doc: 'Marks the set-up as complete at start, if the configuration is valid.',
  }),
  parkedTasks: choice({
    env: 'CORE_PARKED_TASKS',
    values: ['keep', 'fail'],
    default: 'keep',
    doc: 'What a restart does to tasks that wait for an answer: keep them, or fail them.',
  }),
  interruptedTasks: choice({
    env: 'CORE_INTERRUPTED_TASKS',
    values: ['fail', 'resume'],
    default: 'fail',
    doc: 'What a restart or a crash does to tasks that were running: fail them, or resume them at their last step. Finished tools do not run again; you are asked about one that had begun.',
  }),
});

const fileOptions = group('Files', {
  configDirectory: directory({
    env: 'CORE_CONFIG_DIR',
    doc: 'Folder with agent.yaml, secrets.yaml, skills/ and plugins/.',
    defaultDoc: 'agent/config in TRUNKLINE_HOME',
  }),
  configFile: file({
    flag: '--config',
    doc: 'Configuration file.',
    defaultDoc: 'agent.yaml in CORE_CONFIG_DIR',
  }),
  workspace: directory({
    env: 'CORE_WORKSPACE',
    doc: "The only folder that the agent's file tools may read and write.",
    defaultDoc: 'agent/workspace in TRUNKLINE_HOME',
  }),
  instance: text({
    env: 'CORE_INSTANCE',
    doc: 'Name that keeps several agents on one machine apart. Each store gets a folder of this name.',
    defaultDoc: 'instance.id in agent.yaml',
  }),
  ...contentOptions,
  memoryPath: sandboxed(directory, 'MEMORY_PATH', 'memory', 'Folder for session summaries.'),
  disableMemory: toggle({
    env: 'CORE_DISABLE_MEMORY',
    default: false,
    anyValue: true,
    doc: 'Stops writing session summaries. Existing ones are still read.',
  }),
  knowledgeDbPath: file({
    env: 'KNOWLEDGE_DB_PATH',
    doc: "Database of the agent's long-term memory.",
    defaultDoc: 'knowledge.db_path in agent.yaml',
  }),
  notesPath: sandboxed(file, 'NOTES_PATH', 'notes/workspace.json', 'File for notes.'),
  beadsDbPath: sandboxed(file, 'BEADS_DB_PATH', 'beads/issues.db', 'Database of the task board.'),
  goalPath: sandboxed(directory, 'GOAL_PATH', 'goals', 'Folder for goals.'),
  auditPath: sandboxed(file, 'AUDIT_PATH', 'audit/audit.jsonl', 'Log of tool calls.'),
});

const accessOptions = group('Access', {
  authToken: text({
    env: 'A2A_AUTH_TOKEN',
    secret: true,
    doc: 'Token that callers of the agent, and of voice over A2A, must send as bearer token.',
    defaultDoc: 'none: everyone who reaches the port may call',
  }),
  operatorToken: text({
    env: 'CORE_OPERATOR_TOKEN',
    secret: true,
    doc: 'Token for the console, /api and /mcp. With it, A2A_AUTH_TOKEN only opens A2A and /v1, so you can give that one to other agents.',
    defaultDoc: 'A2A_AUTH_TOKEN',
  }),
  requireAuth: toggle({
    env: 'CORE_REQUIRE_AUTH',
    default: false,
    doc: 'Refuses to listen beyond this machine while no token is set.',
  }),
  publicUrl: url({
    env: 'A2A_PUBLIC_URL',
    doc: 'Address others use to reach the agent: services, and MCP clients if it begins with https.',
    defaultDoc: 'the address it listens on',
  }),
  allowedOrigins: list({
    env: 'A2A_ALLOWED_ORIGINS',
    default: [],
    doc: 'Web origins whose pages may read A2A streams. * allows all.',
  }),
});

const schedulerOptions = {
  ...group('Schedules', {
    schedulerBackend: text({
      env: 'SCHEDULER_BACKEND',
      default: 'local',
      doc: 'Where schedules run: local (in the agent) or switchboard (on the server at SWITCHBOARD_API_BASE).',
    }),
  }),
  ...group('Switchboard', {
    switchboardApiBase: url({
      env: 'SWITCHBOARD_API_BASE',
      doc: 'With SCHEDULER_BACKEND=switchboard: address of that switchboard.',
    }),
    switchboardApiKey: text({
      env: 'SWITCHBOARD_API_KEY',
      secret: true,
      doc: 'Key of the switchboard, sent as X-API-Key or bearer token. The switchboard needs one to listen beyond this machine; keys.yaml in its workspace can hold more.',
    }),
    switchboardTopicPrefix: text({
      env: 'SWITCHBOARD_TOPIC_PREFIX',
      doc: 'With SCHEDULER_BACKEND=switchboard: topic its schedules publish to.',
      defaultDoc: 'cron.<AGENT_NAME>',
    }),
  }),
  ...group('Schedules', {
    schedulerDbDirectory: sandboxed(
      directory,
      'SCHEDULER_DB_DIR',
      'scheduler',
      'Folder for schedules; they are stored in <AGENT_NAME>/jobs.db in it.',
    ),
    schedulerInvokeUrl: url({
      env: 'SCHEDULER_INVOKE_URL',
      doc: 'Address that receives due jobs as messages.',
      defaultDoc: 'this agent',
    }),
    schedulerFireTimeoutS: integer({
      env: 'SCHEDULER_FIRE_TIMEOUT_S',
      default: 600,
      min: 1,
      doc: 'Seconds a scheduled run may take.',
    }),
    schedulerDisabled: toggle({
      env: 'SCHEDULER_DISABLED',
      default: false,
      doc: 'Takes the schedule tools away from the agent.',
    }),
  }),
};

const ownOptions = {
  ...serviceOptions,
  ...fileOptions,
  ...accessOptions,
  ...schedulerOptions,
  ...grpcOptions('A2A'),
  ...modelOptions,
  ...group('Model', {
    coreModel: text({
      env: 'CORE_MODEL',
      doc: 'Model for the agent alone. Wins over model.name in agent.yaml and LLM_MODEL.',
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
  return defineOptions('agent', 'Agent: works on tasks with tools', options, async (values, context) =>
    (await import('./context.ts')).checkStart(values, context),
  );
}

export const agentOptions = createAgentOptions(toolModules);

/** A path that has its place in the image's /sandbox, and under the home of all data elsewhere. */
function sandboxed(make: typeof file, env: string, place: string, doc: string) {
  return make({
    env,
    doc,
    defaultDoc: `/sandbox/${place} if /sandbox exists, else in TRUNKLINE_HOME`,
  });
}
