import { BellRing, FileText, Newspaper } from 'lucide-react';
import { useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { Button, buttonClass } from '../../src/components/Button.tsx';
import { TextAreaField, TextField } from '../../src/components/Field.tsx';
import { Panel } from '../../src/components/Panel.tsx';
import { cn } from '../../src/lib/cn.ts';
import { SERVICES, type ServiceName } from '../../src/shell/services.tsx';
import { DigestResult } from './DigestResult.tsx';
import { Busy, Choice, Trouble } from './parts.tsx';
import { addressOf, StepFrame, useSetup, useWork } from './setup.tsx';

const UPLOAD_MS = 120_000;

const RESULTS = [
  {
    id: 'digest',
    title: 'A morning digest',
    detail: 'Now, and every day at the time you choose',
    Icon: Newspaper,
    service: 'agent',
    Content: DigestResult,
  },
  {
    id: 'report',
    title: 'A report on a PDF',
    detail: 'Written from a file that you drop here',
    Icon: FileText,
    service: 'research',
    Content: Report,
  },
  {
    id: 'reminder',
    title: 'A reminder by voice',
    detail: 'Say it once, and be reminded',
    Icon: BellRing,
    service: 'voice',
    Content: Reminder,
  },
] as const satisfies readonly { id: string; service: ServiceName; [field: string]: unknown }[];

type ResultId = (typeof RESULTS)[number]['id'];

/** Something real at the end, which the person chooses. */
export default function ResultStep() {
  const { places, view } = useSetup();
  const offered = RESULTS.filter(({ service }) => addressOf('result', [service], places) !== undefined);
  const [chosen, setChosen] = useState(() => namedIn(window.location.hash) ?? namedIn(view.result ?? ''));
  const result = offered.find(({ id }) => id === chosen);
  const choose = (id: ResultId) => {
    setChosen(id);
    // So that a reload, and the way back, come here again.
    window.history.replaceState(null, '', `#${id}`);
  };
  return (
    <StepFrame
      title="Get something out of it"
      intro="Choose one; it starts at once and stays yours to change."
    >
      <Choice label="What to start with" choices={offered} value={result?.id} onChange={choose} />
      {result && (result.service === places.own ? <result.Content /> : <Elsewhere {...result} />)}
    </StepFrame>
  );
}

function namedIn(text: string): ResultId | undefined {
  return RESULTS.find(({ id }) => id === text.replace(/^#/, ''))?.id;
}

/** Each result is made by one service, on whose page it is started. */
function Elsewhere({ id, service, title }: { id: ResultId; service: ServiceName; title: string }) {
  const { places } = useSetup();
  const address = addressOf('result', [service], places);
  return (
    <Panel title={title} detail={`${SERVICES[service].title} does this.`}>
      <a href={`${address}#${id}`} className={buttonClass({ variant: 'primary' })}>
        Go on in {SERVICES[service].title}
      </a>
    </Panel>
  );
}

interface Uploaded {
  files: { name: string }[];
}

function Report() {
  const api = useApi();
  const { mark } = useSetup();
  const [file, setFile] = useState<File>();
  const [question, setQuestion] = useState(
    'What does it say, what follows from it, and what does it leave open?',
  );
  const work = useWork<string>();
  const start = () =>
    work.run(async () => {
      if (file === undefined) return '';
      const form = new FormData();
      form.append('file', file);
      const { files } = await api.request<Uploaded>('/api/files', { body: form, timeLimitMs: UPLOAD_MS });
      const query = `A report on the file "${files[0]?.name ?? file.name}". ${question.trim()}`;
      const { researchId } = await api.request<{ researchId: string }>('/api/research/deep', {
        body: { query, sources: ['files'] },
      });
      await mark('done', 'report');
      window.location.assign(`/#/research/${encodeURIComponent(researchId)}`);
      return researchId;
    });
  return (
    <Panel
      title="A report on a PDF"
      detail="Every sentence of the report leads to the passage that it rests on."
    >
      <div className="flex flex-col gap-4">
        <DropZone file={file} onFile={setFile} />
        <TextAreaField
          label="What do you want to know?"
          maxLength={1500}
          value={question}
          onChange={(event) => setQuestion(event.target.value)}
        />
        <div>
          <Button variant="primary" busy={work.busy} disabled={file === undefined} onClick={start}>
            Write the report
          </Button>
        </div>
        {work.busy && <Busy>Reading the file and starting the report</Busy>}
        <Trouble work={work} what="The report was not started." />
      </div>
    </Panel>
  );
}

function DropZone({ file, onFile }: { file: File | undefined; onFile(file: File): void }) {
  const [isOver, setOver] = useState(false);
  return (
    <label
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        const dropped = event.dataTransfer.files[0];
        if (dropped) onFile(dropped);
      }}
      className={cn(
        'flex cursor-pointer flex-col items-center gap-1 rounded-corner border border-line-strong border-dashed px-4 py-8 text-center text-14 transition-colors hover:border-edge hover:bg-hover has-focus-visible:outline-2',
        isOver && 'border-accent-strong bg-accent-wash',
      )}
    >
      <FileText aria-hidden className="size-5 text-muted" />
      <span className="font-medium break-all">{file ? file.name : 'Drop a PDF here, or choose one'}</span>
      <span className="text-12 text-muted">
        {file ? 'Choose another' : 'Also .docx, .md, .txt and .html'}
      </span>
      <input
        type="file"
        accept=".pdf,.docx,.md,.markdown,.txt,.html,.htm"
        className="sr-only"
        onChange={(event) => {
          const chosen = event.target.files?.[0];
          if (chosen) onFile(chosen);
        }}
      />
    </label>
  );
}

function Reminder() {
  const { mark } = useSetup();
  const [words, setWords] = useState('Remind me in two minutes to stretch');
  const open = async () => {
    await mark('done', 'reminder');
    window.location.assign(`/#say=${encodeURIComponent(words.trim())}`);
  };
  return (
    <Panel
      title="A reminder by voice"
      detail="The voice page opens with these words ready: say them, or send them."
    >
      <form
        className="flex flex-wrap items-end gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          void open();
        }}
      >
        <TextField
          label="What you say"
          required
          maxLength={300}
          className="min-w-0 flex-1 basis-64"
          value={words}
          onChange={(event) => setWords(event.target.value)}
        />
        <Button type="submit" variant="primary">
          Open Voice
        </Button>
      </form>
    </Panel>
  );
}
