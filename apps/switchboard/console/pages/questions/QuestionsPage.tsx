import { answerWords } from '@trunkline/std';
import {
  ApprovalCard,
  Button,
  CopyButton,
  hashRoute,
  RelativeTime,
  TextAreaField,
  useOperator,
} from '@trunkline/ui';
import { MessageCircleQuestion, Send } from 'lucide-react';
import { useState } from 'react';
import type { Question } from '../../../api-types.ts';
import { List } from '../../shared/blocks.tsx';
import { Frame } from '../../shared/sections.tsx';
import { useList, useSend } from '../../shared/useList.ts';

export default function QuestionsPage() {
  const list = useList<Question>('/api/hitl/pending', ['agent.input.#']);
  const { status, ask } = useOperator();
  const signIn = async () => {
    if (await ask()) list.reload();
  };
  return (
    <Frame title="Questions" intro="Agents wait for these answers. They stay open until somebody answers.">
      <List
        title="Waiting for an answer"
        hideTitle
        what="the questions"
        list={list}
        icon={MessageCircleQuestion}
        empty={
          status.name === 'signed-out'
            ? [
                'No question for you',
                'Approvals and questions for the operator show once you sign in.',
                <Button key="sign-in" variant="primary" onClick={() => void signIn()}>
                  Sign in as operator
                </Button>,
              ]
            : [
                'Nobody asks anything',
                'When an agent needs a person, its question shows here and where that person talks.',
              ]
        }
        itemKey={({ requestId }) => requestId}
      >
        {(question) => <QuestionRow question={question} onAnswered={list.reload} />}
      </List>
    </Frame>
  );
}

function QuestionRow({ question, onAnswered }: { question: Question; onAnswered(): void }) {
  const send = useSend();
  const { requestId, subject, mayApprove } = question;
  const submit = async (answer: string) => {
    const body = { requestId, answer };
    if (await send('/api/a2a/input', { title: 'Answered. The agent goes on.', body })) onAnswered();
  };
  return (
    <li className="flex flex-col gap-3 border-line border-b px-4 py-4 last:border-b-0">
      {subject === undefined ? (
        <>
          <div>
            <p className="font-medium whitespace-pre-wrap break-words">{question.question}</p>
            <AskedLine question={question} />
          </div>
          <AnswerForm onAnswer={submit} />
        </>
      ) : (
        <>
          <ApprovalCard
            approval={subject}
            mayApprove={mayApprove}
            onAnswer={(answer) => submit(answerWords(answer))}
          />
          <AskedLine question={question} />
        </>
      )}
    </li>
  );
}

function AskedLine({ question: { askedAt, correlationId } }: { question: Question }) {
  return (
    <p className="flex flex-wrap items-center gap-x-3 text-12 text-muted">
      <RelativeTime at={askedAt} />
      <a
        className="text-accent-text underline underline-offset-2"
        href={hashRoute('flows', `skill-${correlationId}`)}
      >
        Its flow
      </a>
      <CopyButton value={correlationId} label="Copy the correlation id" />
    </p>
  );
}

function AnswerForm({ onAnswer }: { onAnswer(answer: string): Promise<void> }) {
  const [answer, setAnswer] = useState('');
  const [busy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    await onAnswer(answer.trim());
    setBusy(false);
  };
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (answer.trim() !== '') void submit();
      }}
    >
      <TextAreaField label="Your answer" value={answer} onChange={(event) => setAnswer(event.target.value)} />
      <div className="flex justify-end">
        <Button
          type="submit"
          variant="primary"
          icon={<Send aria-hidden />}
          busy={busy}
          disabled={answer.trim() === ''}
        >
          Send the answer
        </Button>
      </div>
    </form>
  );
}
