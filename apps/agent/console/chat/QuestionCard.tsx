import type { ApprovalView } from '@trunkline/std';
import {
  ApprovalCard,
  Button,
  type JsonSchema,
  SchemaForm,
  TextAreaField,
  type UiSchema,
  useAttempt,
  useSend,
} from '@trunkline/ui';
import { MessageCircleQuestion } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import type { QuestionEntry } from './wire.ts';

interface QuestionCardProps {
  question: QuestionEntry;
  onAnswer(text: string): Promise<void>;
}

/** What the agent asks and waits for: an approval, a line to answer, or a form. */
export function QuestionCard({ question, onAnswer }: QuestionCardProps) {
  const send = useSend();
  const approval = approvalOf(question.schema);
  return approval === undefined ? (
    <Question question={question} onAnswer={onAnswer} />
  ) : (
    <ApprovalCard
      key={approval.id}
      approval={approval}
      onAnswer={(body) => send(`/api/approvals/${approval.id}`, { body })}
    />
  );
}

/** The approval that a question asks for; none when it is another one. */
function approvalOf(schema: unknown): ApprovalView | undefined {
  if (typeof schema !== 'object' || schema === null || !('approval' in schema)) return undefined;
  return schema.approval as ApprovalView;
}

function Question({ question, onAnswer }: QuestionCardProps) {
  const titleId = useId();
  const attempt = useAttempt();
  const [sending, setSending] = useState(false);
  const form = formOf(question.schema);
  const answer = async (text: string) => {
    setSending(true);
    await attempt(() => onAnswer(text));
    setSending(false);
  };
  return (
    <section
      aria-labelledby={titleId}
      className="max-w-reading rounded-corner border border-accent-strong bg-accent-wash p-4"
    >
      <Heading id={titleId}>{form?.title ?? question.text}</Heading>
      {form ? (
        <Steps form={form} sending={sending} onAnswer={answer} />
      ) : (
        <Line sending={sending} yesOrNo={isYesOrNo(question.text)} onAnswer={answer} />
      )}
    </section>
  );
}

function Heading({ id, children }: { id: string; children: ReactNode }) {
  return (
    <h3 id={id} className="flex gap-3 pb-3 text-16">
      <MessageCircleQuestion aria-hidden className="mt-0.5 size-5 shrink-0 text-accent-text" />
      <span className="min-w-0 whitespace-pre-wrap break-words">{children}</span>
    </h3>
  );
}

interface AnswerProps {
  sending: boolean;
  onAnswer(text: string): void;
}

function Steps({ form, sending, onAnswer }: AnswerProps & { form: QuestionForm }) {
  const [answers, setAnswers] = useState<readonly Readonly<Record<string, unknown>>[]>([]);
  const index = Math.min(answers.length, form.steps.length - 1);
  const step = form.steps[index];
  if (step === undefined) return null;
  const last = index === form.steps.length - 1;
  const take = (values: Readonly<Record<string, unknown>>) => {
    const all = [...answers.slice(0, index), values];
    if (last) onAnswer(answerText(all));
    else setAnswers(all);
  };
  return (
    <div className="flex flex-col gap-3">
      {form.description && <p className="text-muted">{form.description}</p>}
      {form.steps.length > 1 && (
        <p className="text-12 text-muted">
          Step {index + 1} of {form.steps.length}
          {step.title && `: ${step.title}`}
        </p>
      )}
      {step.description && <p>{step.description}</p>}
      <SchemaForm
        key={index}
        schema={step.schema}
        ui={step.ui}
        disabled={sending}
        onSubmit={take}
        actions={
          <>
            {index > 0 && <Button onClick={() => setAnswers(answers.slice(0, index - 1))}>Back</Button>}
            {form.declines && (
              <Button disabled={sending} onClick={() => onAnswer('decline')}>
                Decline
              </Button>
            )}
            <Button type="submit" variant="primary" busy={sending}>
              {last ? 'Send the answer' : 'Next'}
            </Button>
          </>
        }
      />
    </div>
  );
}

function Line({ sending, yesOrNo, onAnswer }: AnswerProps & { yesOrNo: boolean }) {
  const [text, setText] = useState('');
  const send = () => text.trim() !== '' && onAnswer(text.trim());
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        send();
      }}
    >
      <TextAreaField
        label="Your answer"
        rows={1}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          send();
        }}
      />
      <div className="flex flex-wrap justify-end gap-2">
        {yesOrNo && (
          <>
            <Button disabled={sending} onClick={() => onAnswer('no')}>
              No
            </Button>
            <Button disabled={sending} onClick={() => onAnswer('yes')}>
              Yes
            </Button>
          </>
        )}
        <Button type="submit" variant="primary" busy={sending} disabled={text.trim() === ''}>
          Send the answer
        </Button>
      </div>
    </form>
  );
}

// The form of a question, as the agent's tool request_user_input asks for it.

interface FormStep {
  title: string | undefined;
  description: string | undefined;
  schema: JsonSchema;
  ui: UiSchema;
}

interface QuestionForm {
  title: string;
  description: string;
  steps: FormStep[];
  /** Whoever asks takes "decline" for an answer, as MCP servers do. */
  declines: boolean;
}

/** The form that a question holds; none when it is a plain one or cannot be read. */
export function formOf(given: unknown): QuestionForm | undefined {
  const { title, description, steps, declines } = recordOf(given);
  if (!Array.isArray(steps) || steps.length === 0) return undefined;
  return {
    title: nonEmpty(title) ?? 'A few details',
    description: nonEmpty(description) ?? '',
    steps: steps.map(stepOf),
    declines: declines === true,
  };
}

/** The answers of all steps in one text, as the tool expects it. */
export function answerText(steps: readonly Readonly<Record<string, unknown>>[]): string {
  return JSON.stringify(Object.assign({}, ...steps));
}

/** A question that a yes or a no answers, as those for leave do. */
export function isYesOrNo(text: string): boolean {
  return /\byes\b.{0,20}\bno\b|\bapprove\b|\ballow\b|^(may|shall|should) I\b/i.test(text);
}

/** What a person answered, in lines to read, when it was a form. */
export function readableAnswer(text: string): string {
  try {
    const values: unknown = JSON.parse(text);
    const lines = Object.entries(recordOf(values)).map(([name, value]) => `${name}: ${plain(value)}`);
    return lines.length > 0 ? lines.join('\n') : text;
  } catch {
    return text;
  }
}

function plain(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function stepOf(given: unknown): FormStep {
  const { schema, uiSchema, title, description } = recordOf(given);
  return {
    title: nonEmpty(title),
    description: nonEmpty(description),
    schema: recordOf(schema),
    ui: recordOf(uiSchema),
  };
}

function recordOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

function nonEmpty(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
