import type { ModelPlace, ModelTest, ModelUnderTest, SavedModel } from '@trunkline/std';
import { FlaskConical } from 'lucide-react';
import { useState } from 'react';
import { useApi } from '../../src/api/ApiProvider.tsx';
import { Button } from '../../src/components/Button.tsx';
import { SelectField, TextField } from '../../src/components/Field.tsx';
import { Lamp } from '../../src/components/Lamp.tsx';
import { Panel } from '../../src/components/Panel.tsx';
import { Busy, Note, Trouble } from './parts.tsx';
import { useWork } from './setup.tsx';

/** A model that is loaded from disk first may take minutes. */
const TEST_MS = 300_000;

const SUBJECTS = { answer: 'Answer', tools: 'Tools', context: 'Context', images: 'Images' };

type TestAndSaveProps = { save(saved: SavedModel): void; isSaving: boolean } & (
  | {
      place: ModelPlace;
      models: readonly string[];
      isUnlisted?: boolean;
      exampleModel?: string | undefined;
      file?: undefined;
    }
  | { file: string; place?: undefined }
);

/** Tries a model before it counts, and saves it. */
export function TestAndSave(props: TestAndSaveProps) {
  const api = useApi();
  const trial = useWork<ModelTest>();
  const isListed = props.place !== undefined && props.models.length > 0;
  const [model, setModel] = useState(() => firstModel(props));
  const test = () =>
    trial.run((signal) => {
      const body: ModelUnderTest = props.place ? { ...props.place, model } : { file: props.file };
      return api.request<ModelTest>('/operator/setup/test', { body, signal, timeLimitMs: TEST_MS });
    });
  const saved: SavedModel = props.place
    ? { role: 'chat', model, ...props.place }
    : { role: 'chat', file: props.file };
  const choose = (next: string) => {
    setModel(next);
    trial.clear();
  };
  const isReady = props.place === undefined || model.trim() !== '';
  const hasFailed = trial.answer?.ok === false;
  return (
    <div className="flex flex-col gap-4">
      {isListed && (
        <SelectField
          label="Model"
          value={model}
          options={props.models.map((name) => ({ value: name, label: name }))}
          onChange={(event) => choose(event.target.value)}
          className="max-w-md"
        />
      )}
      {props.place && !isListed && (
        <TextField
          label="Model"
          mono
          value={model}
          placeholder={props.exampleModel}
          hint={
            props.isUnlisted
              ? 'Mend what is said above and list again, or write the name of a model.'
              : 'This address lists no models: write the name of one.'
          }
          onChange={(event) => choose(event.target.value)}
          className="max-w-md"
        />
      )}
      <div className="flex flex-wrap gap-2">
        <Button icon={<FlaskConical aria-hidden />} busy={trial.busy} disabled={!isReady} onClick={test}>
          Test
        </Button>
        <Button
          variant={hasFailed ? 'danger' : 'primary'}
          busy={props.isSaving}
          disabled={!isReady || trial.busy}
          onClick={() => props.save(saved)}
        >
          {hasFailed ? 'Save anyway' : 'Save'}
        </Button>
      </div>
      {trial.busy && <Busy>Asking the model for an answer, a tool call and its context</Busy>}
      <Trouble work={trial} what="The model could not be tested." />
      {trial.answer && <Outcome test={trial.answer} />}
      {trial.answer?.ok && props.place && (
        <p className="text-12 text-muted">
          Save also keeps what the test found about tools and images, for all services.
        </p>
      )}
    </div>
  );
}

function firstModel(props: TestAndSaveProps): string {
  if (props.place === undefined) return '';
  const { models, exampleModel } = props;
  return models.find((name) => name === exampleModel) ?? models[0] ?? exampleModel ?? '';
}

function Outcome({ test: { ok, summary, findings, firstTokenMs, tokensPerSecond } }: { test: ModelTest }) {
  if (!ok) return <Note state="failed" title={summary} />;
  return (
    <Panel title={summary} flush>
      <ul>
        {findings.map(({ subject, ok: isGood, words }) => (
          <Finding key={subject} isGood={isGood} subject={SUBJECTS[subject]} words={words} />
        ))}
        {firstTokenMs !== undefined && (
          <Finding isGood subject="Speed" words={speedWords(firstTokenMs, tokensPerSecond)} />
        )}
      </ul>
    </Panel>
  );
}

function Finding({ isGood, subject, words }: { isGood: boolean; subject: string; words: string }) {
  return (
    <li className="flex gap-3 border-line border-b px-4 py-2.5 text-14 last:border-b-0 max-sm:flex-col max-sm:gap-1">
      <Lamp state={isGood ? 'live' : 'waiting'} word={subject} className="w-24 shrink-0 self-start" />
      <p className="min-w-0 flex-1 break-words">{words}</p>
    </li>
  );
}

/** People read about five words a second, and speech needs three. */
function speedWords(firstTokenMs: number, tokensPerSecond: number | undefined): string {
  const begin = `Begins after ${(firstTokenMs / 1000).toFixed(1)} s`;
  if (tokensPerSecond === undefined) return `${begin}.`;
  const rate = tokensPerSecond < 10 ? tokensPerSecond.toFixed(1) : Math.round(tokensPerSecond).toString();
  return `${begin}, then ${rate} tokens a second: ${paceWords(firstTokenMs, tokensPerSecond)}.`;
}

function paceWords(firstTokenMs: number, tokensPerSecond: number): string {
  if (tokensPerSecond < 4) return 'too slow for a conversation, fine for work in the background';
  if (firstTokenMs > 3000 || tokensPerSecond < 8) return 'fine for chat, slow for speech';
  return 'fast enough to talk to';
}
