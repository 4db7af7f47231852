import { CalendarClock, Plus, RefreshCw, Trash2 } from 'lucide-react';
import {
  Badge,
  Button,
  CopyButton,
  EmptyState,
  ErrorState,
  IconButton,
  KeyCaps,
  Lamp,
  Line,
  Panel,
  Progress,
  RelativeTime,
  Skeleton,
  Tooltip,
} from '../src/index.ts';

/** Parts that stand still. */
export function PartSpecimens() {
  return (
    <>
      <Buttons />
      <Lamps />
      <Lines />
      <States />
    </>
  );
}

function Buttons() {
  return (
    <Panel
      title="Buttons"
      detail="One that acts, the others quiet."
      actions={<Badge tone="accent">New</Badge>}
    >
      <div className="flex flex-wrap items-center gap-2">
        <Button variant="primary" icon={<Plus aria-hidden />}>
          New schedule
        </Button>
        <Button>Cancel</Button>
        <Button variant="quiet">Skip</Button>
        <Button variant="danger" icon={<Trash2 aria-hidden />}>
          Delete
        </Button>
        <Button variant="primary" disabled>
          Not now
        </Button>
        <Button busy>Saving</Button>
        <Button size="small">Small</Button>
        <IconButton label="Reload" icon={<RefreshCw aria-hidden />} />
        <CopyButton value="task-7f3a" label="Copy the task id" />
        <KeyCaps keys="mod+shift+p" />
        <Tooltip text="Seen on hover and focus">
          <Button size="small">With a tooltip</Button>
        </Tooltip>
      </div>
    </Panel>
  );
}

function Lamps() {
  return (
    <Panel title="Lamps and badges">
      <div className="flex flex-wrap gap-4">
        <Lamp state="live" />
        <Lamp state="waiting" />
        <Lamp state="failed" />
        <Lamp state="idle" />
        <Lamp state="live" word="3 calls" />
      </div>
      <div className="mt-4 flex flex-wrap gap-2">
        <Badge>plain</Badge>
        <Badge tone="accent">accent</Badge>
        <Badge tone="live">live</Badge>
        <Badge tone="waiting">waiting</Badge>
        <Badge tone="failed">failed</Badge>
      </div>
    </Panel>
  );
}

function Lines() {
  return (
    <Panel title="Lines" flush>
      <ul>
        <Line
          lead={<Lamp state="live" dotOnly />}
          title="morning-brief"
          detail="Every weekday at 07:30"
          trail={<RelativeTime at={Date.now() - 300_000} />}
          href="#morning-brief"
        />
        <Line
          lit
          lead={<Lamp state="live" dotOnly />}
          title="research-7f3a"
          detail="Reading source 3 of 8"
          trail="12.4 s"
        />
        <Line
          selected
          lead={<Lamp state="idle" dotOnly />}
          title="inbox-sweep"
          detail="Paused"
          trail="never"
        />
        <Line
          lead={<Lamp state="failed" dotOnly />}
          title="A title so long that it does not fit into the width that a line has on a phone"
        />
      </ul>
    </Panel>
  );
}

function States() {
  return (
    <>
      <Panel title="Empty, failed, loading">
        <EmptyState
          icon={<CalendarClock aria-hidden />}
          title="No schedules yet"
          next="A schedule wakes the agent at a time you choose. Make the first one."
          action={<Button variant="primary">New schedule</Button>}
        />
        <ErrorState
          what="The answer stopped."
          why="The model at http://gateway.local:8000/v1 refused the key."
          todo="Check LLM_API_KEY, then send the message again."
          action={<Button size="small">Send again</Button>}
        />
      </Panel>
      <Panel title="Progress">
        <div className="flex flex-col gap-4">
          <Progress words="Reading source 3 of 8" value={0.375} />
          <Progress words="Looking for sources" />
          <Skeleton rows={3} />
        </div>
      </Panel>
    </>
  );
}
