import { TextField } from '@trunkline/ui';

/** As the workspace takes names: they name files and appear in topics. */
const PATTERN = '[a-zA-Z0-9][a-zA-Z0-9_\\-]{0,63}';
const WORDS = 'Letters, digits, - and _, at most 64; a letter or digit first.';

/** The name of a new entry of the workspace; a wrong one is told at the field. */
export function NameField({ value, onChange }: { value: string; onChange(name: string): void }) {
  const isWrong = value !== '' && !new RegExp(`^${PATTERN}$`).test(value.trim());
  return (
    <TextField
      label="Name"
      required
      mono
      pattern={`\\s*${PATTERN}\\s*`}
      hint={isWrong ? undefined : WORDS}
      error={isWrong ? WORDS : undefined}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
