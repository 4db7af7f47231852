import { useState } from 'react';
import { CheckboxField, Panel, SelectField, SwitchField, TextAreaField, TextField } from '../src/index.ts';

const LEVELS = [
  { value: 'brief', label: 'Brief' },
  { value: 'normal', label: 'Normal' },
  { value: 'full', label: 'In full' },
];

export function FieldSpecimens() {
  const [on, setOn] = useState(true);
  const [checked, setChecked] = useState(true);
  return (
    <Panel title="Fields">
      <div className="grid gap-4 @lg:grid-cols-2">
        <TextField label="Name" placeholder="morning-brief" hint="Lowercase letters, digits and hyphens." />
        <TextField
          label="Model address"
          mono
          defaultValue="htp:/gateway"
          error="This is no address. It starts with http:// or https://."
        />
        <SelectField label="Answers" options={LEVELS} defaultValue="normal" />
        <TextField label="Cannot be changed" disabled defaultValue="fixed" />
        <TextAreaField
          label="Instructions"
          defaultValue={'Summarise the inbox.\nName what needs me today.'}
          hint="Grows as you type."
        />
        <div className="flex flex-col gap-4">
          <SwitchField label="Speak answers" checked={on} onChange={setOn} hint="Takes effect at once." />
          <SwitchField label="Off" checked={false} onChange={setOn} />
          <CheckboxField label="Send me a copy" checked={checked} onChange={setChecked} />
          <CheckboxField
            label="I know that this cannot be undone"
            checked={false}
            onChange={setChecked}
            error="Tick this to go on."
          />
        </div>
      </div>
    </Panel>
  );
}
