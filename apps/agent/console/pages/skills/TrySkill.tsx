import { Button, Dialog, hashRoute, TextAreaField, useApi, useAttempt } from '@trunkline/ui';
import { useState } from 'react';
import { newSessionId } from '../../chat/chats.ts';
import type { Skill } from './wire.ts';

/** Begins a chat that follows the skill. */
export function TrySkill({ skill, onClose }: { skill: Skill; onClose(): void }) {
  const api = useApi();
  const attempt = useAttempt();
  const [text, setText] = useState('');
  const begin = async () => {
    const session = newSessionId();
    const body = { text: text.trim(), skill: skill.name };
    const started = await attempt(() => api.request(`/api/chat/sessions/${session}/messages`, { body }));
    if (started) window.location.assign(`/${hashRoute('chat', session)}`);
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Try ${skill.name}`}
      detail="Begins a chat in which the agent follows it."
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (text.trim() !== '') void begin();
        }}
      >
        <TextAreaField
          label="Say something"
          autoFocus
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <div className="flex justify-end">
          <Button type="submit" variant="primary" disabled={text.trim() === ''}>
            Begin the chat
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
