import { Button, Dialog, plural, SelectField, TextAreaField, useApi } from '@trunkline/ui';
import { useState } from 'react';
import type { TriedServer } from '../../../routes/mcp.ts';
import { knownServers, type PastedServer, parseServers, pasteOf } from './mcp-json.ts';

const TRIAL_MS = 70_000;

interface ImportServersProps {
  onClose(): void;
  /** Resolves to whether they were accepted. */
  onAdd(servers: readonly PastedServer[]): Promise<boolean>;
}

/** Adds servers from a list of known ones, or from the JSON that their documentation offers. */
export function ImportServers({ onClose, onAdd }: ImportServersProps) {
  const api = useApi();
  const [known, setKnown] = useState('');
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  const [found, setFound] = useState<readonly string[]>([]);
  const pasted = text.trim() === '' ? undefined : parseServers(text);
  const servers = pasted && 'servers' in pasted ? pasted.servers : [];
  const problem = pasted && 'problem' in pasted ? pasted.problem : undefined;
  const change = (next: string) => {
    setText(next);
    setFound([]);
  };
  const choose = (title: string) => {
    setKnown(title);
    const chosen = knownServers.find((each) => each.title === title);
    if (chosen) change(pasteOf(chosen));
  };
  const test = async () => {
    setBusy(true);
    const lines: string[] = [];
    for (const server of servers) {
      lines.push(await tryServer(server));
      setFound([...lines]);
    }
    setBusy(false);
  };
  const tryServer = async (server: PastedServer): Promise<string> => {
    try {
      const request = { body: server, timeLimitMs: TRIAL_MS };
      const { server: tried } = await api.request<{ server: TriedServer }>('/api/mcp/servers/test', request);
      return findingText(tried);
    } catch (error) {
      return `${server.name}: ${error instanceof Error ? error.message : 'it could not be tried.'}`;
    }
  };
  const add = async () => {
    setBusy(true);
    const accepted = await onAdd(servers);
    setBusy(false);
    if (accepted) onClose();
  };
  return (
    <Dialog
      open
      wide
      onClose={onClose}
      title="Import MCP servers"
      detail="Choose a known server, or paste the block that its documentation shows for other clients."
      actions={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button busy={busy} disabled={servers.length === 0} onClick={() => void test()}>
            Test
          </Button>
          <Button variant="primary" busy={busy} disabled={servers.length === 0} onClick={() => void add()}>
            {servers.length > 1 ? `Add ${servers.length} servers` : 'Add'}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-4">
        <SelectField
          label="Known servers"
          value={known}
          options={[
            { value: '', label: 'None: I paste my own' },
            ...knownServers.map(({ title }) => ({ value: title, label: title })),
          ]}
          onChange={(event) => choose(event.target.value)}
        />
        <p className="text-14 text-muted">
          {knownServers.find(({ title }) => title === known)?.detail ??
            'Values that look like keys are moved to the store of secrets when you add the server.'}
        </p>
        <ul aria-live="polite" className="flex flex-col gap-1 text-14">
          {found.map((line) => (
            <li key={line} className="break-words">
              {line}
            </li>
          ))}
        </ul>
        <TextAreaField
          label="Configuration (JSON)"
          rows={10}
          mono
          spellCheck={false}
          placeholder={'{ "mcpServers": { "name": { "command": "npx", "args": [] } } }'}
          value={text}
          error={problem}
          onChange={(event) => {
            setKnown('');
            change(event.target.value);
          }}
        />
      </div>
    </Dialog>
  );
}

/** What a test has found, in a sentence. */
export function findingText({ name, state, tools, prompts = 0, resources = 0, reason }: TriedServer): string {
  if (state === 'sign-in') return `${name} answers and wants a sign-in. Add it, then choose Sign in.`;
  if (state === 'failed') return `${name} does not answer. ${reason ?? ''}`.trimEnd();
  const counts = [plural(tools.length, 'tool'), plural(prompts, 'prompt'), plural(resources, 'resource')];
  return `${name} answers. It has ${counts.slice(0, -1).join(', ')} and ${counts.at(-1)}.`;
}
