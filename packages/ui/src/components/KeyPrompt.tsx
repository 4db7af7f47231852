import { type ReactNode, useState } from 'react';
import { writeStored } from '../lib/storage.ts';
import { Button } from './Button.tsx';
import { Dialog } from './Dialog.tsx';
import { TextField } from './Field.tsx';

interface KeyPromptProps {
  /** The key's name in local storage. */
  storageName: string;
  /** Whose key is asked for: "the voice service". */
  owner: string;
  /** The key tried last was not accepted. */
  refused: boolean;
  /** What the service says about who may come in. */
  reason?: string | undefined;
  /** Another way in, beside the key. */
  alternative?: ReactNode;
  /** Signs the operator in instead; undefined where there is no operator. */
  onSignIn?: (() => void) | undefined;
  /** The stored key; null when the person closes the dialog. */
  onAnswer(key: string | null): void;
}

/** Asks for a key and keeps it in this browser. */
export function KeyPrompt({
  storageName,
  owner,
  refused,
  reason,
  alternative,
  onSignIn,
  onAnswer,
}: KeyPromptProps) {
  const [key, setKey] = useState('');
  const keep = () => {
    writeStored(storageName, key.trim());
    onAnswer(key.trim());
  };
  return (
    <Dialog
      open
      onClose={() => onAnswer(null)}
      title="Enter your key"
      detail={`To go on, ${owner} needs a key. It stays in this browser.`}
    >
      <form
        className="flex flex-col gap-4"
        onSubmit={(event) => {
          event.preventDefault();
          if (key.trim() !== '') keep();
        }}
      >
        {reason && <p className="break-words text-14">{reason}</p>}
        <TextField
          label="Key"
          type="password"
          mono
          autoComplete="current-password"
          autoFocus
          value={key}
          onChange={(event) => setKey(event.target.value)}
          error={
            refused && key === ''
              ? 'The service did not accept the last key. Check it and enter it again.'
              : undefined
          }
        />
        <div className="flex flex-wrap justify-end gap-2">
          {alternative}
          {onSignIn && <Button onClick={onSignIn}>Sign in as operator</Button>}
          <Button type="submit" variant="primary" disabled={key.trim() === ''}>
            Use this key
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
