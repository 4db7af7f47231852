// Writes a spoken question as 16-bit samples at 16 kHz: question.ts FILE. Piper speaks it, which came with npm ci.
import { writeFileSync } from 'node:fs';
import { openLocalVoices } from '../../../apps/voice/cases/harness/local-voices.suite.ts';

const voices = await openLocalVoices();
writeFileSync(process.argv[2] ?? '', await voices.open().sounds.speech('What is the capital of France?'));
await voices.close();
