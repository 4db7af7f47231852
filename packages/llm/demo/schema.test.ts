import type { JSONSchema7 } from '@ai-sdk/provider';
import { generateText, Output } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { createDemoModel } from './model.ts';
import { fillSchema } from './schema.ts';

const prompt =
  'Question: How do heat pumps work in cold climates?\nHeat pumps move heat instead of making it. In cold climates they need a defrost cycle. See https://a.example/pumps.';

async function fill<Shape>(schema: z.ZodType<Shape>, text = prompt): Promise<Shape> {
  const { output } = await generateText({
    model: createDemoModel(),
    prompt: text,
    output: Output.object({ schema }),
  });
  return output;
}

describe('filling a schema', () => {
  it('scopes a topic into dimensions and queries', async () => {
    const plan = await fill(
      z.object({
        dimensions: z
          .array(z.object({ title: z.string(), queries: z.array(z.string()).min(1).max(2) }))
          .min(3)
          .max(6),
      }),
    );
    expect(plan.dimensions.length).toBeGreaterThanOrEqual(3);
    expect(new Set(plan.dimensions.map(({ title }) => title)).size).toBe(plan.dimensions.length);
    expect(plan.dimensions[0]?.title).toContain('heat pumps');
    expect(plan.dimensions.every(({ queries }) => queries.length <= 2)).toBe(true);
  });

  it('finds no gaps, takes salient sentences and picks choices the text names', async () => {
    const found = await fill(
      z.object({
        hasGaps: z.boolean(),
        gaps: z.array(z.string()).max(3),
        keyFinding: z.string(),
        summary: z.string(),
        climate: z.enum(['tropical', 'cold']),
        score: z.number().min(1).max(5),
        count: z.int(),
      }),
    );
    expect(found).toMatchObject({ hasGaps: false, gaps: [], climate: 'cold', score: 1, count: 0 });
    expect(prompt).toContain(found.keyFinding.replace(/ \[\d+\]$/, ''));
    expect(found.summary).toContain('defrost cycle');
  });

  it('satisfies nested, optional, nullable, recursive and formatted schemas', async () => {
    interface Node {
      name: string;
      children: Node[];
    }
    const node: z.ZodType<Node> = z.lazy(() => z.object({ name: z.string(), children: z.array(node) }));
    const filled = await fill(
      z.object({
        tree: node,
        maybe: z.string().nullable(),
        either: z.union([z.object({ kind: z.literal('a') }), z.object({ kind: z.literal('b') })]),
        both: z.intersection(z.object({ left: z.string() }), z.object({ right: z.number() })),
        url: z.url(),
        at: z.iso.datetime(),
        contact: z.email(),
        short: z.string().max(10),
        long: z.string().min(300),
        labels: z.array(z.enum(['x', 'y'])).min(1),
        table: z.record(z.string(), z.number()),
        negative: z.number().max(-2),
      }),
    );
    expect(filled.url).toBe('https://a.example/pumps');
    expect(filled.negative).toBe(-2);
    expect(filled.either).toEqual({ kind: 'a' });
  });

  it('answers in JSON where no schema is given', async () => {
    const { output } = await generateText({ model: createDemoModel(), prompt, output: Output.json() });
    expect(output).toEqual({ text: expect.stringContaining('heat') });
  });

  it.each([
    ['alone', { $ref: '#' }],
    ['twice', { allOf: [{ $ref: '#' }, { $ref: '#' }] }],
    ['as a choice', { anyOf: [{ $ref: '#' }] }],
  ])('ends where a schema is itself, %s', (_, schema) => {
    const source = { name: 'text', text: prompt };
    expect(fillSchema(schema as JSONSchema7, source)).toEqual(expect.anything());
  });
});
