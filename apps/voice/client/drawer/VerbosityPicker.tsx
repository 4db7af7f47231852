import { errorMessage } from '@trunkline/std';
import { SelectField, useApi, useResource, useToast } from '@trunkline/ui';
import { ask } from './errorBody.ts';

const LEVELS = [
  { value: 'silent', label: 'Silent', hint: 'The answer alone, as short as it can be.' },
  { value: 'brief', label: 'Brief', hint: 'A few words before a longer look-up, then a short answer.' },
  { value: 'narrated', label: 'Narrated', hint: 'Says what it is doing while it works.' },
  { value: 'chatty', label: 'Chatty', hint: 'Talks with you as a friend would.' },
];

/** How much is said around an answer. */
export function VerbosityPicker() {
  const api = useApi();
  const toast = useToast();
  const { body, reload } = useResource<{ verbosity: string }>('/api/verbosity');
  if (body === undefined) return null;
  const choose = async (level: string) => {
    try {
      await ask(api, '/api/verbosity', { body: { level } });
    } catch (error) {
      toast({ title: 'The verbosity was not changed.', detail: errorMessage(error), state: 'failed' });
    }
    reload();
  };
  return (
    <SelectField
      label="Verbosity"
      value={body.verbosity}
      options={LEVELS}
      hint={LEVELS.find(({ value }) => value === body.verbosity)?.hint}
      onChange={(event) => void choose(event.target.value)}
    />
  );
}
