import {
  CodeView,
  type Column,
  Lamp,
  type LampState,
  MarkdownView,
  Panel,
  RelativeTime,
  Table,
} from '../src/index.ts';

interface Task {
  id: string;
  state: LampState;
  title: string;
  tokens: number;
  at: number;
}

const TASKS: Task[] = [
  {
    id: 'task-7f3a',
    state: 'live',
    title: 'Compare three heat pumps',
    tokens: 18_420,
    at: Date.now() - 40_000,
  },
  {
    id: 'task-11c0',
    state: 'waiting',
    title: 'Book the room for Thursday',
    tokens: 1_204,
    at: Date.now() - 7_200_000,
  },
  { id: 'task-90ab', state: 'failed', title: 'Read the feed', tokens: 88, at: Date.now() - 90_000_000 },
];

const COLUMNS: Column<Task>[] = [
  { id: 'title', header: 'Task', cell: (task) => task.title },
  { id: 'state', header: 'State', cell: (task) => <Lamp state={task.state} /> },
  { id: 'id', header: 'Id', cell: (task) => <code className="text-12">{task.id}</code> },
  { id: 'tokens', header: 'Tokens', align: 'right', cell: (task) => task.tokens.toLocaleString('en') },
  { id: 'at', header: 'Started', cell: (task) => <RelativeTime at={task.at} /> },
];

const MARKDOWN = `## Which heat pump

The **air source** model is *cheapest to run* below 0 °C, see [the test](https://example.com/test).

1. Measure the flow temperature.
2. Compare \`SCOP\` at 35 °C.

- [x] Two sources agree
- [ ] One does not

> Prices are from last week.

| Model | SCOP | Price |
|---|---|---|
| A | 4.6 | 7,900 |
| B | 4.1 | 6,200 |

\`\`\`ts
const saving = (consumption / 4.6) * price;
\`\`\`

<script>alert(1)</script>

![a plan](https://example.com/plan.png)
`;

export function ReadingSpecimens() {
  return (
    <>
      <Panel title="Tasks" flush>
        <Table caption="Tasks" columns={COLUMNS} rows={TASKS} rowId={(task) => task.id} />
      </Panel>
      <Panel title="Markdown">
        <MarkdownView text={MARKDOWN} />
      </Panel>
      <CodeView
        title="config.yaml"
        code={'model:\n  name: qwen3-32b\n  url: http://gateway.local:8000/v1\n'}
      />
    </>
  );
}
