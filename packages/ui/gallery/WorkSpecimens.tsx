import { useState } from 'react';
import { Button, Panel, Plot, SchemaForm, TextEditor } from '../src/index.ts';

const JOURNEY = {
  type: 'object',
  required: ['destination', 'class'],
  properties: {
    destination: { type: 'string', description: 'Where the journey ends.' },
    class: { enum: ['first', 'second'] },
    meals: { type: 'array', items: { enum: ['lunch', 'dinner'] } },
    seat: { type: 'object', properties: { window: { type: 'boolean' } } },
  },
};
const HOUR_MS = 3_600_000;
const TIMES = Array.from({ length: 24 }, (_, hour) => Date.UTC(2027, 0, 1) + hour * HOUR_MS);

export function WorkSpecimens() {
  const [text, setText] = useState('model:\n  name: small\nnonsense: 1\n');
  return (
    <>
      <Panel title="A form from a schema">
        <SchemaForm
          schema={JOURNEY}
          onSubmit={() => undefined}
          actions={
            <Button type="submit" variant="primary">
              Book it
            </Button>
          }
        />
      </Panel>
      <Panel title="Text with numbered lines">
        <TextEditor
          label="A configuration"
          value={text}
          onChange={setText}
          messages={[{ line: 3, message: 'unknown key "nonsense"' }]}
        />
      </Panel>
      <Panel title="Over time">
        <Plot
          title="Tokens"
          times={TIMES}
          format={(value) => value.toLocaleString('en')}
          lines={[
            {
              name: 'In',
              tone: 'accent',
              values: TIMES.map((_, hour) => (40 + ((hour * 37) % 61)) * 100_000),
            },
            {
              name: 'Out',
              tone: 'live',
              values: TIMES.map((_, hour) => (hour % 7 === 3 ? null : ((hour * 17) % 23) * 100_000)),
            },
          ]}
        />
      </Panel>
    </>
  );
}
